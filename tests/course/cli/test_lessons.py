"""`lessons` and `exercises`: what is written out is whole, ready to open, and never over
something else."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from html_pages import data_of

from aiayn_course.cli import lessons, pages
from aiayn_course.cli.main import main
from aiayn_course.lab import EXPERIMENTS
from aiayn_np.cli.common import UsageError

ROOT = Path(__file__).parents[3]
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
LINK = re.compile(r"\]\(([^()\s#]+\.(?:ipynb|md|py))[^()\s]*\)")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """pip finds no index, so it builds no wheel."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture(scope="module", params=["lessons", "lessons --teacher", "exercises",
                                        "exercises --teacher", "lessons --zh",
                                        "lessons --zh --teacher", "exercises --zh"])
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "new" / "here"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_LANG", "en")
        patch.setenv("PIP_NO_INDEX", "1")
        assert main([*request.param.split(), str(folder)]) == 0
    return request.param, folder


@pytest.mark.slow
def test_a_copy_of_the_project_builds_its_wheel_beside_the_lessons(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("PIP_NO_INDEX")
    assert main(["lessons", str(tmp_path / "here")]) == 0
    assert "wheel" not in capsys.readouterr().err
    (wheel,) = (tmp_path / "here").glob("*.whl")
    assert f"./{wheel.name}[notebooks]" in (tmp_path / "here" / "README.md").read_text("utf-8")


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_every_link_leads_to_a_file_of_the_folder(written):
    _, folder = written
    seen = 0
    for path in (p for p in folder.rglob("*.*") if p.suffix in (".ipynb", ".md")):
        texts = [path.read_text(encoding="utf-8")] if path.suffix == ".md" else [
            "".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown"]
        for link in (link for text in texts for link in LINK.findall(text)):
            assert "//" in link or (path.parent / link).exists(), (path, link)
            seen += 1
    assert seen >= 13


def test_a_student_gets_no_solution_and_no_output_and_a_teacher_both(written):
    what, folder = written
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    assert any("### solution" in text for text in texts) == ("--teacher" in what)
    if what.startswith("lessons"):
        assert sorted(path.name for path in folder.glob("*.ipynb")) == LESSONS
        outputs = [cell["outputs"] for name in LESSONS for cell in cells(folder / name)
                   if cell["cell_type"] == "code"]
        assert any(outputs) == ("--teacher" in what)
        hidden = [cell for name in LESSONS for cell in cells(folder / name)
                  if cell["metadata"].get("jupyter", {}).get("source_hidden")]
        # the cell that installs, and for students the check of its claims
        assert len(hidden) == len(LESSONS) * (1 + ("--teacher" not in what))


def test_a_student_is_told_to_open_and_run_nothing_that_is_not_there(written):
    what, folder = written
    pages = [path for path in folder.rglob("*.md") if "--teacher" not in what]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search("(notebooks|docs|tests|source|student)/|TEACHING|install -e", text)
    if pages and what.startswith("lessons"):
        about = lessons.ABOUT["zh" if "--zh" in what else "en"]
        assert all((folder / Path(name).name).exists() for name in ("PROJECT.md", *about))
        assert "--teacher" not in (folder / "README.md").read_text("utf-8")
        assert "-Transformer" in (folder / "README.md").read_text("utf-8")   # Jupyter's anchors
        assert len(re.findall(r"(?m)^\| (a|一)", (folder / "README.md").read_text("utf-8"))) == 3


def test_the_results_that_lessons_read_lie_in_the_folder(written):
    what, folder = written
    if what.startswith("lessons"):
        sources = ["".join(cell["source"]) for name in LESSONS for cell in cells(folder / name)]
        named = set(re.findall(r'"figures/(\w+).json"|committed\("(\w+)"', " ".join(sources)))
        named = {a or b for a, b in named}
        assert len(named) >= 5
        for name in named:
            assert EXPERIMENTS[name].load(folder / "figures").finding
        assert not any("../figures" in source for source in sources)


def test_no_mark_and_nothing_that_a_mark_keeps_out_is_in_a_copy(written):
    what, folder = written
    for path in (path for path in folder.rglob("*.*") if path.suffix in (".md", ".ipynb")):
        text = path.read_text(encoding="utf-8")
        assert not re.search("<!-- (repository|else|end)|make_live_pages", text), path
        if "--teacher" not in what:
            assert not re.search("<!-- teachers only|## (How they are made|怎样生成)", text), path


@pytest.mark.parametrize(("text", "student", "teacher"), [
    ("A.<!-- repository only --> B.<!-- end --> C.", "A. C.", "A. C."),
    ("A.<!-- teachers only --> B.<!-- end -->", "A.", "A. B."),
    ("[a](02_b.ipynb#c) [d](../docs/symbols.md), [e](../docs/index.md)",
     "[a](02_b.ipynb#c) [d](symbols.md), e", None),
    ("[a](../docs/live/copy.html#x)<!-- else: (not here) -->.", "a (not here).", None),
    ("[a](https://b.org/c.html) ![d](e.md)", "[a](https://b.org/c.html) ![d](e.md)", None),
    ("[a](README.md), [b](zh/README.md)", "[a](README.md), b", None),
])
def test_what_a_copy_has_is_said_by_marks_and_by_where_links_lead(text, student, teacher):
    reach = {"notebooks/02_b.ipynb": "02_b.ipynb", "docs/symbols.md": "symbols.md",
             "notebooks/README.md": "README.md"}
    for for_teachers, wanted in ((False, student), (True, teacher or student)):
        assert lessons.edition(text, "notebooks/01_a.ipynb", "01_a.ipynb", reach,
                               for_teachers) == wanted


def test_teachers_have_code_and_outputs_of_the_repository_and_zh_is_chinese(written):
    what, folder = written
    han = re.compile("[\u4e00-\u9fff]")
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.*")
             if path.suffix in (".md", ".ipynb")}
    names = [n for n in texts if re.match(r"\d\d_|README|find_the_bug", n)]
    assert len(names) >= 15
    assert all(han.search(texts[name]) for name in names) == ("--zh" in what)
    assert any(map(han.search, texts.values())) == ("--zh" in what)
    for name in LESSONS if what.startswith("lessons") and "--teacher" in what else ():
        before, after = ([("".join(cell["source"]).replace("../", "") * ("--zh" not in what),
                           cell["outputs"]) for cell in cells(path) if cell["cell_type"] == "code"]
                         for path in (ROOT / "notebooks" / name, folder / name))
        assert before == after


@pytest.mark.parametrize(("language", "chinese"), [("zh_CN.UTF-8", True), ("en", False)])
def test_the_language_of_the_system_is_the_default(tmp_path, monkeypatch, capsys, language,
                                                   chinese):
    """The empty folder that one is in will do."""
    monkeypatch.setenv("AIAYN_LANG", language)
    monkeypatch.chdir(tmp_path)
    assert main(["exercises", "."]) == 0
    assert ("练习" in (tmp_path / "README.md").read_text(encoding="utf-8")) is chinese
    assert ("打开" in capsys.readouterr().err) is chinese


@pytest.mark.parametrize("command", [["lessons"], ["exercises"], ["lessons", "--pages"]])
def test_nothing_is_overwritten(tmp_path, capsys, monkeypatch, command):
    """It is refused before anything is trained."""
    monkeypatch.setattr(lessons, "make_pages", None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    (tmp_path / "file").write_text("me too")
    monkeypatch.chdir(tmp_path / "mine")
    for name in (tmp_path / "mine", tmp_path / "file", "."):
        assert main([*command, str(name)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.count("is there already: choose another name")) == ("", 3, 2)
    assert f"{tmp_path / 'file'}: a file stands where a folder must be" in err
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "mine", "notes.txt"]
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep me"


@pytest.mark.parametrize("command", [["lessons", "out"], ["exercises", "out"],
                                     ["figures", "variance", "--out", "out"]])
def test_a_copy_of_the_package_alone_says_what_is_missing(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setattr(lessons, "REPOSITORY", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert "did not come with this copy of the package: install its wheel" in err
    assert (out, err.splitlines()[1:]) == ("", [])


def test_without_jupyter_a_note_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("importlib.metadata.requires",
                        lambda name: ['jupyter>=1.1; extra == "notebooks"'])
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "my course"
    assert main(["exercises", str(out)]) == 0
    begin, install = capsys.readouterr().err.splitlines()
    assert begin.startswith(f"begin with {out / 'README.md'}; ")
    assert f"jupyter lab '{out}'" in begin
    assert install.startswith("note: ")
    assert re.search(r"pip install .*'jupyter>=", install)
    assert main(["exercises", "--zh", str(tmp_path / "zh")]) == 0
    assert capsys.readouterr().err.splitlines()[1] == install.replace(
        "note: Jupyter, which opens notebooks, is not installed: ",
        "注意：没有安装打开 notebook 用的 Jupyter：")


@pytest.mark.parametrize("options", [[], ["--teacher"]])
def test_a_lecturer_is_told_how_the_package_gets_beside_the_lessons(options, tmp_path, capsys):
    folder = tmp_path / "a course"
    assert main(["lessons", *options, str(folder)]) == 0
    command = f"pip wheel --no-deps --wheel-dir '{folder}' {ROOT}"
    assert (command in capsys.readouterr().err) is not bool(options)


def test_figures_are_drawn_of_what_was_measured(tmp_path, monkeypatch):
    measures_nothing = dataclasses.replace(EXPERIMENTS["variance"], run=None)
    monkeypatch.setitem(EXPERIMENTS, "variance", measures_nothing)
    assert main(["figures", "variance", "--out", str(tmp_path)]) == 0
    theirs, ours = (json.loads((folder / "variance.json").read_text(encoding="utf-8"))
                    for folder in (ROOT / "figures", tmp_path))
    assert theirs == ours
    assert (tmp_path / "variance.png").stat().st_size > 10_000


def test_in_a_clone_no_committed_figure_is_replaced(tmp_path, monkeypatch, blank_pictures):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "variance.json").write_text("committed")
    monkeypatch.chdir(tmp_path)
    assert main(["figures", "variance"]) == 0
    assert (tmp_path / "figures" / "variance.json").read_text() == "committed"
    assert (tmp_path / "figures-here" / "variance.json").is_file()


LINKING = [name for name in LESSONS if "docs/live/" in (ROOT / "notebooks" / name).read_text()]


def lines_on_pages(folder, lesson):
    texts = ["".join(cell["source"]) for cell in cells(folder / lesson)]
    return [line for text in texts for line in re.split(r"\n|(?<=。)", text)
            if "live/" in line or "to get this page)" in line or "（怎样得到这个页面" in line]


def test_without_the_pages_a_lesson_says_how_to_make_them_and_has_no_link(written):
    what, folder = written
    if what.startswith("lessons"):
        assert not any("make_live" in "".join(cell["source"])
                       for name in LINKING for cell in cells(folder / name))
        command = f"`aiayn-np lessons {'--zh ' * ('--zh' in what)}with-pages --pages`"
        assert command in (folder / "README.md").read_text("utf-8")
        for name in LINKING:
            (line,) = lines_on_pages(folder, name)
            assert "README.md" in line


@pytest.mark.parametrize("language", [[], ["--zh"]], ids=["en", "zh"])
def test_pages_are_made_beside_the_lessons_which_link_them(tmp_path, monkeypatch, capsys, language):
    def make(out):
        out.mkdir()
        for name in pages.PAGES:
            (out / f"{name}.html").write_text("made")

    monkeypatch.setattr(lessons, "make_pages", make)
    assert main(["lessons", *language, str(tmp_path / "here"), "--pages"]) == 0
    links = [link for name in LESSONS for line in lines_on_pages(tmp_path / "here", name)
             for link in re.findall(r"\]\(([^()#]*)#src=[^()]*\)", line)]
    assert len(links) >= len(LINKING) >= 3
    assert all((tmp_path / "here" / link).read_text() == "made" for link in links)


def test_what_is_interrupted_makes_no_page_and_leaves_no_folder(tmp_path, monkeypatch, capsys):
    tasks = []
    def interrupted(run, *_):
        tasks.append(run.task.name)
        raise KeyboardInterrupt

    monkeypatch.setattr(pages, "take_steps", interrupted)
    assert main(["lessons", str(tmp_path / "here"), "--pages"]) == 1
    assert tasks == ["copy"]
    said, *more = capsys.readouterr().err.splitlines()
    assert said.startswith("three models are trained")
    assert more == ["aiayn-np: error: interrupted"]
    assert not (tmp_path / "here").exists()


def test_the_extra_is_asked_for_before_anything_is_trained(tmp_path, monkeypatch, capsys):
    def missing(package):
        raise ImportError(f"{package} is not installed")

    monkeypatch.setattr(pages, "extra", missing)
    assert main(["lessons", str(tmp_path / "here"), "--pages"]) == 2
    assert capsys.readouterr().err == "aiayn-np: error: sentencepiece is not installed\n"
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(("most", "names"), [
    (pages.MOST, ["copy.html", "number_words.html", "reverse.html"]), (1000, None)])
def test_three_pages_are_trained_and_written_or_one_is_too_large(tmp_path, monkeypatch,
                                                                 no_pictures, most, names):
    small = dict(d_model=8, h=1, N=1, d_ff=8)
    start_run = pages.start_run

    def start_small(folder, task, *files, **options):
        return start_run(folder, task, *files, **options, **small,
                         **(dict(epochs=0.03) if files else dict(steps=2)))

    monkeypatch.setattr(pages, "start_run", start_small)
    monkeypatch.setattr(pages, "MOST", most)
    if names is None:
        with pytest.raises(UsageError, match=r"copy.html must have at most 1,000 bytes, got"):
            pages.make_pages(tmp_path / "live")
    else:
        pages.make_pages(tmp_path / "live")
        found = sorted((tmp_path / "live").iterdir())
        assert [path.name for path in found] == names
        for path in found:
            data = data_of(path.read_text(encoding="utf-8"))
            assert len(data["answers"] or []) == 1000 * (path.stem == "number_words")
