"""A model file starts no process, opens no path that it names, and imports no module by its name.

Every event that Python tells of (``sys.addaudithook``) is watched while forged files are loaded.
"""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import forged
import process
import understudy as us
from installed import install
from understudy.errors import OptionError
from understudy.synthesizers import SYNTHESIZERS, Synthesizer, native, options_of

MARK = "named-by-the-file"
FOREIGN = sorted(set(SYNTHESIZERS) - set(native()))
STARTS = (
    "subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "os.startfile", "os.system", "pty.spawn", "ctypes.dlopen",
)  # fmt: skip
CHILD = """
    import json, sys, warnings
    import understudy as us
    from understudy.errors import DataError, OptionError
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    for path in asked["sound"]:
        us.load(path).sample(3)
    seen, now = [], ""
    def watch(event, arguments):
        named = any(asked["mark"] in str(argument) for argument in arguments)
        if event in asked["starts"] or (named and event in ("open", "import", "os.listdir")):
            seen.append([now, event, repr(arguments)])
    sys.addaudithook(watch)
    for now in asked["forged"]:
        try:
            us.load(now).sample(3)
            outcome = "rows"
        except (DataError, OptionError) as error:
            outcome = error.message
        print(json.dumps([now, outcome]))
    print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sound")
    forged_models = [name for name in native() if name in forged.MODELS]
    models = {name: forged.save(name, folder, 60) for name in forged_models}
    return {**models, "sequential": forged.save("rules", folder, 60)}


def watched(sound: list[Path], changed: list[Path], env=None) -> dict[str, str]:
    """Load sound files, then forged ones under watch; give what became of the latter."""
    asked = {
        "sound": [str(path) for path in sound],
        "forged": [str(path) for path in changed],
        "mark": MARK,
        "starts": STARTS,
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        input=json.dumps(asked), capture_output=True, text=True, check=False, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *told, seen = map(json.loads, done.stdout.splitlines())
    assert seen == []
    return {Path(path).name: outcome for path, outcome in told}


@pytest.mark.slow
def test_no_option_of_any_method_runs_or_opens_anything(sound, tmp_path):
    tool = tmp_path / MARK
    tool.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    tool.chmod(0o755)
    paths, file = [], str(tool)
    for name, method in SYNTHESIZERS.items():
        model = sound.get(name, sound["bootstrap"])
        options = {option: value for option, value in options_of(method).items() if value}
        choices = [dict.fromkeys(options_of(method), file), {}]
        for option in options_of(method):
            for value in (file, [file], {file: file}, f"{file}:Tool", MARK, 2.5):
                choices.append({**options, option: value})
        for number, chosen in enumerate(choices):
            path = tmp_path / f"{name}-{number}"
            paths.append(forged.with_head(model, path, method=name, options=chosen))
    outcomes = watched(list(sound.values()), paths)
    assert not (tmp_path / "started").exists()
    assert len(outcomes) == len(paths) > 200
    for name, outcome in outcomes.items():
        if name.rsplit("-", 1)[0] in FOREIGN:
            assert "runs another program, and is never taken from a file" in outcome


@pytest.mark.parametrize("base", FOREIGN)
def test_no_method_inside_another_runs_anything(sound, base, tmp_path):
    forged.with_head(sound["corrupt"], tmp_path / "m", options={"base": base})
    with pytest.raises(us.UnderstudyError, match="is damaged or of another version"):
        us.load(tmp_path / "m")


@pytest.mark.parametrize(
    "name",
    ["os:system", "understudy.synthesizers.sequential:Cart", "forest.py", "../forest", "Forest"],
)
def test_only_registered_names_are_known(sound, name, tmp_path):
    forged.with_head(sound["forest"], tmp_path / "m", method=name)
    with pytest.raises(OptionError, match="is not known here"):
        us.load(tmp_path / "m")


OTHERS = """
import dataclasses, subprocess
from dataclasses import dataclass
from understudy.synthesizers.controls import Bootstrap
@dataclass
class Good(Bootstrap):
    card = dataclasses.replace(Bootstrap.card, name="good")
@dataclass
class Tool(Bootstrap):
    python: str = ""
    foreign = True
    card = dataclasses.replace(Bootstrap.card, name="tool")
    def __post_init__(self):
        subprocess.run([self.python])
@dataclass
class Unsaid(Bootstrap):
    python: str = ""
    card = dataclasses.replace(Bootstrap.card, name="unsaid", holds="")
    def __post_init__(self):
        subprocess.run([self.python])
"""


def test_methods_of_other_packages_come_from_a_file_if_they_say_so(sound, tmp_path):
    points = {name.lower(): f"others:{name}" for name in ("Good", "Tool", "Unsaid")}
    folder = install(tmp_path / "installed", "others", points, OTHERS)
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    model, options = sound["bootstrap"], {"python": str(tmp_path / MARK)}
    changed = [
        forged.with_head(model, tmp_path / "good", method="good", options={}),
        forged.with_head(model, tmp_path / "tool", method="tool", options=options),
        forged.with_head(model, tmp_path / "unsaid", method="unsaid", options=options),
        forged.with_head(model, tmp_path / "module", method="others:Good", options={}),
    ]
    outcomes = watched([model], changed, {**os.environ, "PYTHONPATH": paths})
    assert outcomes["good"] == "rows"
    assert "runs another program, and is never taken from a file" in outcomes["tool"]
    assert "its card does not say what they hold" in outcomes["unsaid"]
    assert "'others:Good' is not known here" in outcomes["module"]


def test_a_method_that_does_not_say_what_its_file_holds_is_not_saved(tmp_path):

    class Unsaid(SYNTHESIZERS["bootstrap"]):
        card = dataclasses.replace(SYNTHESIZERS["bootstrap"].card, name="unsaid", holds="")

    made = Synthesizer(Unsaid()).fit(forged.table(30))
    with pytest.raises(OptionError, match="unsaid cannot be saved: its card does not say"):
        made.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_model_that_cannot_be_saved_is_told_before_the_fit(tmp_path):
    out = tmp_path / "out.csv"
    done = process.here(
        "synthesize", "no-table.csv", "--out", out, "--save", tmp_path / "m",
        "--method", "command", "-o", "command.command=true {train} {out}", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "command cannot be saved" in done.stderr


@pytest.mark.parametrize("name", native())
def test_files_with_real_values_are_for_their_owner(sound, name, tmp_path):
    before = os.umask(0o022)
    try:
        us.load(sound[name]).save(tmp_path / "again")
    finally:
        os.umask(before)
    holds = SYNTHESIZERS[name].card.holds
    assert holds == {
        "forest": "model", "copula": "model", "bayes": "model",
        "cart": "real values", "sequential": "real values", "independent": "real values",
    }.get(name, "real rows")  # fmt: skip
    expected = 0o644 if holds == "model" else 0o600
    assert (tmp_path / "again").stat().st_mode & 0o777 == expected
