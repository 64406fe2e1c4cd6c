# %% [markdown]
# # Exercise $number · $title
#
# | | |
# |---|---|
# | **Write** | $objects |
# | **You have to find** | $asks |
# | **Paper** | Section $section |
# | **Explained in** | Lesson $lesson |
# | **Time** | $minutes minutes, estimated |
# $layer| **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: $install
