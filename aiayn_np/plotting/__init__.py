"""Attention as pictures and tables.

Public names, by the file that defines them:

    figures          command_style, draw_grid, draw_map, draw_spread, load_matplotlib, log_ticks,
                     new_figure, plot_attention, plot_attention_grid, plot_loss, plot_signed,
                     save_figure, side_by_side
    fonts            downwards, few_colours, in_utf_8, picture_of, with_fall_backs
    maps             attention_maps, attention_masks
    tracing          Trace, trace
"""
