"""The command skald from outside: wrong things typed, prompts from everywhere, Ctrl-C, closed pipes,
full disks, the same answer on every path.

Run by ctest (tests Cli and CliSharedData), and by hand:
python3 tests/cli/cli_test.py build/release/skald . Cli
"""

import json
import os
import pty
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command import (
    Setup,
    bundled_model,
    catches_interrupt,
    drain,
    environment,
    golden_model,
    instruction_sets,
    nearly_full_pipe,
    run,
    run_json,
    shared_model,
    wait_until,
    writer_is_stuck,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from gguf_writer import STRING, Gguf
from tiny_vocabulary import add_spm, spm_vocabulary

GREEDY = ("--temp", "0")


class CommandTest(unittest.TestCase):
    """Assertions that the tests share."""

    # A message names a cause on one line; nothing follows it.
    def assert_fails(self, done, code: int, part: str) -> None:
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, message)
        self.assertIn(part, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertTrue(message.startswith("skald: "), message)

    def assert_ok(self, done) -> None:
        self.assertEqual(done.returncode, 0, done.stderr.decode())


class CliUsage(CommandTest):
    def test_wrong_lines_say_what_is_wrong(self):
        model = str(bundled_model())
        for arguments, part in (
            ([], "no verb"),
            (["rnu"], "did you mean run?"),
            (["run", "--tmep", "1"], "did you mean --temp?"),
            (["run", "Once", "upon"], "unexpected argument 'upon'"),
            (["run", "-n", "5x", "a"], "'5x' is not a whole number"),
            (["run", "-n", "-2", "a"], "-2 is out of range"),
            (["run", "-n", "99999999999999999999", "a"], "out of range"),
            (["run", "--temp", "nan", "a"], "'nan' is not a finite number"),
            (["run", "--temp", "-1", "a"], "temperature"),
            (["run", "--top-p", "1.5", "a"], "top_p"),
            (["run", "--isa", "sse", "a"], "best|scalar|"),
            (["run", "-t", "-1", "a"], "-1 is out of range"),
            (["run", "--chunk", "0", "a"], "0 is out of range"),
            (["run", "--logit-bias", "13", "a"], "ID=BIAS"),
            (["run", "--stop", "", "a"], "stop"),
            (["run", "--seed", "-2", "a"], "random seed"),
            (["run", "--json=1", "a"], "takes no value"),
            (["run", "-m", "", "a"], "empty"),
            (["run", "a", "-p", "b"], "more than once"),
            (["run", "-p", "b", "-f", "/dev/null"], "more than once"),
            (["run", "-hff", "name.gguf"], "hf://OWNER/NAME:FILE"),
            (["run", "-ngl"], "-ngl needs a value"),
            (["run", "-cnv"], "skald chat -m MODEL"),
            (["run", "-ctk", "q5_1", "a"], "f16|bf16|f32|q8|q4"),
            (["run", "-temp", "1"], "did you mean --temp?"),
            (["pull", "llama3.2"], "names no model"),
            (["pull"], "model is required"),
            (["pull", "hf://owner/../name"], "names no model"),
            (["run", "-m", "hf://owner", "Hi"], "names no model"),
            (["llama3.2", "Hi"], "skald run llama3.2"),
            (["chat", "-m", model, model], "two models"),
            (["tokenize", "--decode", "1,,2"], "empty entry"),
            (["tokenize", "--decode", "1", "text"], "--decode"),
            (["tokenize", "--decode", "2000000000", "-m", model], "vocabulary"),
            (["logits", "--tokens", "1", "-m", model], "--out is required"),
            (["logits", "--out", "/dev/null", "-m", model], "--tokens"),
            (["logits", "--tokens", "1", "--chunks", "0", "--out", "/dev/null"], "--chunks"),
            (["completion", "tcsh"], "bash|zsh|fish|man"),
        ):
            with self.subTest(arguments):
                self.assert_fails(run(*arguments), 2, part)

    def test_control_characters_in_an_argument_do_not_reach_the_terminal(self):
        done = run("run", "-m", "\x1b[2J")
        self.assert_fails(done, 3, "\\x1B[2J")
        self.assertNotIn(b"\x1b", done.stderr)

    def test_help_and_version_are_results(self):
        for arguments in (["--help"], ["run", "--help"], ["logits", "-h"], ["--version"]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assert_ok(done)
                self.assertEqual(done.stderr, b"")
                self.assertTrue(done.stdout.endswith(b"\n"))
        self.assertIn(b"Examples:", run("run", "--help").stdout)
        self.assertRegex(run("--version").stdout.decode(), r"skald \d+\.\d+\.\d+\nnumerics \d+\n")

    def test_models_that_cannot_be_had_have_their_exit_codes(self):
        with tempfile.TemporaryDirectory() as folder:
            garbage = Path(folder) / "garbage.gguf"
            garbage.write_bytes(b"not a model at all" * 100)
            empty = Path(folder) / "empty.gguf"
            empty.touch()
            self.assert_fails(run("run", "-m", f"{folder}/none.gguf", "a"), 3, "none.gguf")
            self.assert_fails(run("run", "-m", folder, "a"), 4, "directory")
            self.assert_fails(run("run", "-m", str(garbage), "a"), 5, "garbage.gguf")
            self.assert_fails(run("show", "-m", str(empty)), 5, "empty.gguf")

    def test_an_unknown_name_lists_the_known(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mine.gguf").symlink_to(bundled_model())
            done = run("run", "-m", "nope", "a", env=environment(SKALD_MODELS=folder))
            self.assert_fails(done, 3, "there are: mine")

    def test_a_word_that_is_spelled_like_a_model_is_no_prompt(self):
        for words in (["llama3.2"], ["llama3.2:1b", "Hi"], ["./model.gguf"]):
            with self.subTest(words):
                self.assert_fails(run("run", *words), 3, "if it is the prompt: -p '" + words[0] + "'")
        # That one would be pulled.
        self.assert_fails(run("run", "owner/Name-7B-GGUF:Q4_K_M"), 10, "HF_HUB_OFFLINE forbids to fetch it")

    def test_a_bare_word_names_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "llama3.2.gguf").symlink_to(bundled_model())
            flags = {"cwd": folder, "env": environment(SKALD_MODELS=folder)}
            expected = run("run", "-m", "llama3.2", "-p", "One day", "-n", "5", *GREEDY, **flags).stdout
            for model in ("llama3.2", "llama3.2.gguf", "./llama3.2.gguf", f"{folder}/llama3.2.gguf"):
                self.assertEqual(run("run", model, "One day", "-n", "5", *GREEDY, **flags).stdout, expected)
                self.assertEqual(run("run", model, "-n", "5", *GREEDY, stdin=b"One day", **flags).stdout, expected)
                self.assertIn(b"architecture", run("show", model, **flags).stdout)
                self.assert_ok(run("chat", model, stdin=b"", **flags))

    def test_flags_from_elsewhere_change_nothing_and_are_said(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "5", *GREEDY, "One day")
        done = run(*flags, "-ngl", "99", "-fa", "on", "--mlock", "-ctk", "f16", "-gan", "1")
        self.assert_ok(done)
        self.assertEqual(done.stdout, run(*flags).stdout)
        notes = done.stderr.decode().splitlines()[:-1]
        self.assertEqual([note.split(" of ")[0] for note in notes], ["skald: -ngl", "skald: -fa", "skald: --mlock"])
        self.assertEqual(run(*flags, "-ngl", "99", "-q").stderr, b"")

    def test_missing_prompt_files(self):
        self.assert_fails(run("run", "-f", "/nonexistent/p"), 3, "/nonexistent/p")
        self.assert_fails(run("run", "-f", "/"), 4, "directory")

    def test_completion_scripts(self):
        for shell, name in (("bash", "skald.bash"), ("zsh", "_skald"), ("fish", "skald.fish")):
            committed = Setup.source / "completions" / name
            self.assertEqual(run("completion", shell).stdout, committed.read_bytes(), name)
        done = subprocess.run(
            ["bash", "-c", "source completions/skald.bash; COMP_WORDS=(skald run --kv-type f);"
             "COMP_CWORD=3; _skald; echo ${COMPREPLY[*]}; COMP_WORDS=(skald sh); COMP_CWORD=1;"
             "_skald; echo ${COMPREPLY[*]}"],
            cwd=Setup.source, capture_output=True, check=True,
        )
        self.assertEqual(done.stdout, b"f16 f32\nshow\n")


class CliFiles(CommandTest):
    def test_ls_finds_models_in_their_order(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mine.gguf").symlink_to(bundled_model())
            (Path(folder) / "broken.gguf").write_bytes(b"GGUF")
            env = environment(SKALD_MODELS=folder)
            done = run("ls", env=env)
            self.assert_ok(done)
            rows = done.stdout.decode().splitlines()
            self.assertTrue(rows[0].startswith("name"), rows)
            self.assertTrue(rows[1].startswith("broken"), rows)
            self.assertTrue(rows[2].startswith("mine"), rows)
            self.assert_ok(run("run", "-m", "mine", "-n", "1", "a", env=env))

    def test_show_says_what_is_in_the_file(self):
        model = str(bundled_model())
        text = run("show", "-m", model).stdout.decode()
        for word in ("architecture", "parameters", "context", "chat template", "KV f16"):
            self.assertIn(word, text)
        facts = run_json("show", "-m", model, "--tensors", "--metadata")
        self.assertEqual(facts["file_bytes"], bundled_model().stat().st_size)
        self.assertEqual(
            sum(entry["bytes"] for entry in facts["types"]),
            sum(tensor["bytes"] for tensor in facts["tensors"]),
        )
        self.assertEqual(
            facts["memory"]["kv_bytes_per_token"]["f32"],
            2 * facts["memory"]["kv_bytes_per_token"]["f16"],
        )
        self.assertIn("general.architecture", [entry["name"] for entry in facts["metadata"]])

    def test_tokens_and_back(self):
        model = str(bundled_model())
        text = "The fox, 12 lanterns\n  and a caf\u00e9 \U0001f98a"
        facts = run_json("tokenize", "-m", model, "--no-bos", "-p", text)
        self.assertEqual(facts["count"], len(facts["ids"]))
        ids = run("tokenize", "-m", model, "--no-bos", "--ids", text).stdout.decode().strip()
        self.assertEqual(ids, ",".join(map(str, facts["ids"])))
        back = run("tokenize", "-m", model, "--decode", ids)
        self.assertEqual(back.stdout.decode(), text)
        rows = run("tokenize", "-m", model, "--no-bos", text).stdout.decode().splitlines()
        self.assertEqual(len(rows), facts["count"])


class CliRun(CommandTest):
    def text(self, *arguments: str) -> str:
        done = run("run", "-m", str(bundled_model()), *arguments, "-q")
        self.assert_ok(done)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def test_without_a_word_it_tells_a_tale(self):
        # stdin is a terminal here: nothing is read from it.
        main, worker = pty.openpty()
        done = subprocess.run(
            [Setup.binary, "run", "-n", "8", *GREEDY],
            stdin=worker, capture_output=True, check=False,
            env=environment(SKALD_MODELS=str(bundled_model().parent)), timeout=120,
        )
        os.close(main)
        os.close(worker)
        self.assert_ok(done)
        self.assertTrue(done.stdout.startswith(b"Once upon a time"), done.stdout)
        self.assertGreater(len(done.stdout), len(b"Once upon a time"))

    def test_a_model_without_a_prompt_is_refused_on_a_terminal(self):
        main, worker = pty.openpty()
        done = subprocess.run(
            [Setup.binary, "run", "-m", str(bundled_model())],
            stdin=worker, capture_output=True, check=False, env=environment(), timeout=120,
        )
        os.close(main)
        os.close(worker)
        self.assert_fails(done, 2, "no prompt")

    def test_every_source_of_the_prompt_gives_the_same(self):
        model = str(bundled_model())
        expected = run("run", "-m", model, "-n", "12", *GREEDY, "One day").stdout
        self.assertTrue(expected.startswith(b"One day"))
        flags = ("run", "-m", model, "-n", "12", *GREEDY)
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"One day\n")
            file.flush()
            self.assertEqual(run(*flags, "-f", file.name).stdout, expected)
        self.assertEqual(run(*flags, "-p", "One day").stdout, expected)
        self.assertEqual(run(*flags, stdin=b"One day").stdout, expected)
        self.assertEqual(run(*flags, stdin=b"One day\r\n").stdout, expected)
        self.assertEqual(run(*flags, "-", stdin=b"One day\n").stdout, expected)
        self.assertNotEqual(run(*flags, stdin=b"One day\n\n").stdout, expected)

    def test_the_echo_can_be_left_out(self):
        whole = self.text("-n", "12", *GREEDY, "One day")
        added = self.text("-n", "12", *GREEDY, "--no-echo", "One day")
        self.assertEqual(whole, "One day" + added)

    def test_the_last_line_is_on_stderr(self):
        done = run("run", "-m", str(bundled_model()), "-n", "9", "--seed", "7", "--ignore-eos", "a")
        self.assert_ok(done)
        self.assertRegex(
            done.stderr.decode(),
            r"^prompt \d+ tokens, [\d.]+ tok/s \| decode 9 tokens, [\d.]+ tok/s \| "
            r"TTFT [\d.]+ (us|ms|s) \| stop: length \| seed 7\n$",
        )

    def test_json_holds_the_same_as_the_text(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "12", "--seed", "3", "One day")
        facts = run_json(*flags)
        self.assertEqual(facts["prompt"] + facts["text"], run(*flags).stdout.decode())
        self.assertEqual(facts["usage"]["completion_tokens"], len(facts["tokens"]))
        self.assertEqual(facts["seed"], 3)
        self.assertIn(facts["finish_reason"], ("stop", "length"))
        self.assertGreater(facts["timings"]["prefill_seconds"], 0)
        self.assertGreaterEqual(facts["numerics_version"], 1)
        self.assertEqual(facts["model"]["path"], str(bundled_model()))

    def test_beams_give_the_best_texts_best_first(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "12", "--beams", "5", "--n-best", "3",
                 "One day")
        facts = run_json(*flags)
        texts = [facts, *facts["others"]]
        self.assertEqual(len({text["text"] for text in texts}), 3)
        scores = [text["score"] for text in texts]
        self.assertEqual(scores, sorted(scores, reverse=True))
        done = run(*flags)
        self.assertEqual(done.stdout.decode(),
                         "\n\n".join("One day" + text["text"] for text in texts))
        self.assertRegex(done.stderr.decode(), r"^prompt \d+ tokens \| 5 beams, \d+ tokens in ")
        self.assertEqual(run(*flags, "--seed", "5", "--temp", "2").stdout, done.stdout)

    def test_speculation_changes_no_text(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "60", "--seed", "2", "One day")
        draft = str(bundled_model().parent / "tales-draft.gguf")
        plain = run(*flags)
        guessed = run(*flags, "--draft", draft, "--draft-min", "3", "--verbose")
        self.assertEqual(guessed.stdout, plain.stdout)
        self.assertRegex(guessed.stderr.decode(), r"\d+ of \d+ guessed tokens were right")
        self.assert_ok(run(*flags, "--draft", draft, "--spec-rule", "rejection"))
        self.assert_fails(run(*flags, "--spec-rule", "rejection"), 2, "--spec-rule says nothing")

    def test_a_drawn_seed_is_shown_and_repeats_the_text(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "30", "One day")
        first = run_json(*flags)
        again = run_json(*flags, "--seed", str(first["seed"]))
        self.assertEqual(first["tokens"], again["tokens"])
        seeds = {run_json(*flags, "-n", "1")["seed"] for _ in range(3)}
        self.assertGreater(len(seeds), 1)

    def test_the_same_answer_on_every_path(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "60", "--seed", "11", "--ignore-eos",
                 "The fox and the")
        expected = run_json(*flags)["tokens"]
        self.assertGreater(len(expected), 5)
        variants = [("-t", str(threads)) for threads in (1, 2, 3)]
        variants += [("--chunk", str(chunk)) for chunk in (1, 2, 3)]
        variants += [("-c", "128")]
        for isa in instruction_sets():
            done = run(*flags, "--isa", isa, "-q")
            # A CPU without it refuses; there is nothing to compare then.
            if done.returncode == 2:
                self.assertIn(f"this CPU does not have {isa}", done.stderr.decode())
                self.assertNotEqual(isa, "scalar")
            else:
                variants += [("--isa", isa, "-t", "2")]
        for variant in variants:
            with self.subTest(variant):
                self.assertEqual(run_json(*flags, *variant)["tokens"], expected)

    def test_another_seed_gives_another_text(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "60", "--temp", "1.5", "One day")
        texts = {tuple(run_json(*flags, "--seed", str(seed))["tokens"]) for seed in range(4)}
        self.assertGreater(len(texts), 1)

    def test_stop_strings_end_the_text_before_them(self):
        flags = ("-n", "40", *GREEDY, "--no-echo", "One day")
        whole = self.text(*flags)
        # Across the border of words, so across the border of tokens.
        at = whole.index(" ", 10) - 2
        stop = whole[at : at + 5]
        before = whole[: whole.index(stop)]
        self.assertEqual(self.text("--stop", stop, *flags), before)
        facts = run_json("run", "-m", str(bundled_model()), "--stop", "never\x01", "--stop", stop, *flags)
        self.assertEqual(facts["text"], before)
        self.assertEqual(facts["finish_reason"], "stop")
        self.assertEqual(facts["stop_string"], stop)
        self.assertEqual(self.text("--stop", "never\x01", *flags), whole)

    def test_no_tokens_at_all(self):
        facts = run_json("run", "-m", str(bundled_model()), "-n", "0", "One day")
        self.assertEqual(facts["tokens"], [])
        self.assertEqual(facts["text"], "")
        self.assertEqual(facts["finish_reason"], "length")
        self.assertEqual(self.text("-n", "0", "One day"), "One day")

    def test_a_huge_number_of_tokens_ends_with_the_context(self):
        facts = run_json("run", "-m", str(bundled_model()), "-n", "9223372036854775807", "-c", "32",
                         "--ignore-eos", "One day")
        self.assertEqual(facts["finish_reason"], "context")
        self.assertLessEqual(facts["usage"]["total_tokens"], 33)
        self.assertGreaterEqual(facts["usage"]["total_tokens"], 32)

    def test_an_empty_prompt_starts_from_nothing(self):
        bos = run_json("tokenize", "-m", str(bundled_model()), "-p", "")["ids"]
        done = run("run", "-m", str(bundled_model()), "-n", "5", "-p", "")
        if bos:
            self.assert_ok(done)
            self.assertFalse(done.stdout.startswith(b" "), done.stdout)
        else:
            self.assert_fails(done, 2, "the prompt is empty")
        done = run("run", "-m", str(bundled_model()), "-n", "5", "--no-bos", "-p", "")
        self.assert_fails(done, 2, "the prompt is empty")

    def test_a_prompt_longer_than_the_context_is_refused_with_the_numbers(self):
        done = run("run", "-m", str(bundled_model()), "-c", "16", "word " * 100)
        self.assertEqual(done.returncode, 7, done.stderr.decode())
        self.assertIn("16", done.stderr.decode())

    def test_a_prompt_of_any_bytes_gives_valid_text(self):
        done = run("run", "-m", str(bundled_model()), "-n", "5", b"caf\xe9 \xff\xf0\x9f")
        self.assert_ok(done)
        self.assertTrue(done.stdout.decode().startswith("caf\ufffd \ufffd\ufffd"), done.stdout)
        facts = run_json("run", "-m", str(bundled_model()), "-n", "5", b"\xff")
        self.assertEqual(facts["prompt"], "\ufffd")

    def test_a_token_outside_the_vocabulary_is_refused(self):
        done = run("run", "-m", str(bundled_model()), "--logit-bias", "2000000000=1", "a")
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_banned_token_never_comes(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "10", *GREEDY, "One day")
        banned = run_json(*flags)["tokens"][0]
        self.assertNotIn(banned, run_json(*flags, "--logit-bias", f"{banned}=-inf")["tokens"])


class CliTerminal(CommandTest):
    def on_terminal(self, *arguments: str, **env: str) -> bytes:
        main, worker = pty.openpty()
        child = subprocess.Popen(
            [Setup.binary, *arguments], stdin=subprocess.DEVNULL, stdout=worker,
            stderr=subprocess.DEVNULL, env=environment(TERM="xterm", **env),
        )
        os.close(worker)
        shown = b""
        try:
            while part := os.read(main, 65536):
                shown += part
        except OSError:  # EIO: the last writer closed the terminal
            pass
        os.close(main)
        self.assertEqual(child.wait(), 0)
        return shown

    def test_the_prompt_is_faint_and_the_line_ends(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "5", *GREEDY, "One day")
        shown = self.on_terminal(*flags)
        self.assertTrue(shown.startswith(b"\x1b[2mOne day\x1b[0m"), shown)
        self.assertTrue(shown.endswith(b"\r\n"), shown)
        for plain in (self.on_terminal(*flags, NO_COLOR="1"),
                      self.on_terminal(*flags, "--color", "never")):
            self.assertTrue(plain.startswith(b"One day"), plain)
        piped = run(*flags, "--color", "always").stdout
        self.assertTrue(piped.startswith(b"\x1b[2mOne day\x1b[0m"), piped)

    def test_control_characters_are_shown_not_obeyed(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "0", "a\x1b[31mb")
        self.assertIn(b"a\\x1B[31mb", self.on_terminal(*flags, "--color", "never"))
        self.assertEqual(run(*flags).stdout, b"a\x1b[31mb")

    def test_raw_numbers_do_not_go_to_a_terminal(self):
        main, worker = pty.openpty()
        done = subprocess.run(
            [Setup.binary, "logits", "--tokens", "1", "--out", "-"], stdin=subprocess.DEVNULL,
            stdout=worker, stderr=subprocess.PIPE, env=environment(), timeout=120, check=False,
        )
        os.close(main)
        os.close(worker)
        self.assert_fails(done, 2, "terminal")


class CliInterrupt(CommandTest):
    FLAGS = ("--ignore-eos", "--seed", "5", "--no-echo", "One day")

    def start_blocked(self):
        """A run that waits, in the middle of its text, for somebody to read its output."""
        reader, writer, filler = nearly_full_pipe(room=20)
        child = subprocess.Popen(
            [Setup.binary, "run", "-m", str(bundled_model()), *self.FLAGS],
            stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, env=environment(),
        )
        os.close(writer)
        wait_until(lambda: catches_interrupt(child.pid), "the run catches SIGINT")
        wait_until(lambda: writer_is_stuck(reader, filler), "the run waits for its reader")
        return child, reader, filler

    def test_once_stops_cleanly(self):
        child, reader, filler = self.start_blocked()
        child.send_signal(signal.SIGINT)
        wait_until(lambda: not catches_interrupt(child.pid), "SIGINT has arrived")
        shown = drain(reader)[filler:]
        stderr = child.stderr.read().decode()
        child.stderr.close()
        os.close(reader)
        self.assertEqual(child.wait(), 130, stderr)
        self.assertIn("stop: cancelled | seed 5\n", stderr)
        whole = run("run", "-m", str(bundled_model()), *self.FLAGS).stdout.decode()
        self.assertTrue(whole.startswith(shown.decode()))
        self.assertLess(len(shown), len(whole.encode()))

    def test_twice_kills(self):
        child, reader, _ = self.start_blocked()
        child.send_signal(signal.SIGINT)
        wait_until(lambda: not catches_interrupt(child.pid), "the first SIGINT has arrived")
        child.send_signal(signal.SIGINT)
        child.stderr.close()
        self.assertEqual(child.wait(), -signal.SIGINT)
        os.close(reader)

    def test_json_is_whole_after_an_interrupt(self):
        # The object is written at the end, so the pipe is not what stops it: the signal comes while
        # it computes, or after; then there is nothing to test.
        child = subprocess.Popen(
            [Setup.binary, "run", "-m", str(bundled_model()), "--json", "-t", "1", "--isa", "scalar",
             *self.FLAGS],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(),
        )
        wait_until(lambda: catches_interrupt(child.pid) or child.poll() is not None, "it runs")
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate()
        if child.returncode == -signal.SIGINT:
            self.skipTest("the signal came after the text was complete")
        self.assertEqual(child.returncode, 130, stderr)
        self.assertIn(b'"finish_reason":"cancelled"', stdout)
        self.assertTrue(stdout.endswith(b"}\n"))


class CliOutput(CommandTest):
    def test_a_closed_pipe_ends_the_run_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        for verb in (("run", "-n", "50", "One day"), ("show",), ("tokenize", "a b c"), ("--help",)):
            with self.subTest(verb):
                model = () if verb == ("--help",) else ("-m", str(bundled_model()))
                done = run(*verb, *model, stdout=writer)
                self.assertEqual(done.returncode, 141)
                self.assertEqual(done.stderr, b"")
        os.close(writer)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for verb in (("run", "-n", "50", "One day"), ("show",), ("run", "--json", "a", "-n", "1")):
                with self.subTest(verb):
                    done = run(*verb, "-m", str(bundled_model()), stdout=full)
                    self.assert_fails(done, 4, "cannot write to stdout: No space left on device")

    def test_a_full_disk_is_an_error_for_every_verb(self):
        model = str(bundled_model())
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
            for verb, stdin in ((("tokenize", "a b c", "-m", model), b""), (("embed", "a", "-m", model), b""),
                                (("ls",), b""), (("--help",), b""), (("completion", "bash"), b""),
                                (("chat", "-n", "2", "-m", model), b"Hi\n")):
                with self.subTest(verb):
                    self.assert_fails(run(*verb, stdin=stdin, stdout=full), 4, "cannot write to stdout")
            for line in ("/save /dev/full\n", f"/save {folder}/none/x.json\n"):
                done = run("chat", "-m", model, "-q", stdin=b"/system Be brief.\n" + line.encode())
                self.assert_fails(done, 4, "/dev/full" if "full" in line else "none/x.json")

    def test_a_reader_that_goes_away_ends_it_quietly(self):
        model = str(bundled_model())
        for verb in (f"run -m {model} -n 200 --ignore-eos -p a", f"show -m {model} --metadata",
                     f"tokenize -m {model} 'a b c d'", f"chat -m {model} -n 50 --ignore-eos"):
            with self.subTest(verb):
                done = subprocess.run(
                    ["bash", "-c", f"yes Hi | head -c 60000 | {Setup.binary} {verb} -q | head -c 1 > /dev/null; "
                     "echo ${PIPESTATUS[2]}"], capture_output=True, env=environment(), timeout=120, check=False)
                self.assertIn(done.stdout.strip(), (b"141", b"0"), done.stderr)
                self.assertEqual(done.stderr, b"")

    def test_a_stdin_that_was_never_open_is_an_error(self):
        model = str(bundled_model())
        for verb in (("run", "-m", model, "-n", "1"), ("tokenize", "-m", model), ("chat", "-m", model)):
            with self.subTest(verb):
                done = subprocess.run([Setup.binary, *verb], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=environment(), preexec_fn=lambda: os.close(0), timeout=120, check=False)
                self.assert_fails(done, 4, "stdin: Bad file descriptor")

    def test_the_locale_changes_nothing(self):
        flags = ("run", "-m", str(bundled_model()), "-n", "12", "--temp", "0.5", "--seed", "3", "--json",
                 "Grüße, 日本 🦊")
        texts = set()
        for locale in ("C", "C.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "nonsense"):
            done = run(*flags, env=environment(LC_ALL=locale))
            self.assert_ok(done)
            texts.add(done.stdout.partition(b'"timings"')[0])
        self.assertEqual(len(texts), 1)

    def test_a_stdout_that_was_never_open_is_an_error(self):
        done = run("show", "-m", str(bundled_model()), preexec_fn=lambda: os.close(1))
        self.assert_fails(done, 4, "cannot write to stdout")

    def test_a_missing_stderr_does_not_matter(self):
        done = run("run", "-m", str(bundled_model()), "-n", "3", *GREEDY, "One day",
                   preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"One day"))


class CliLogits(CommandTest):
    TOKENS = "1,5,9,4,7,3,8,2,6,5,4,3,9,8"

    def rows(self, *arguments: str, tokens: str = TOKENS) -> bytes:
        done = run("logits", "-m", str(bundled_model()), "--tokens", tokens, "--out", "-", "-q",
                   *arguments)
        self.assert_ok(done)
        return done.stdout

    def test_rows_are_vocabulary_sized_and_agree_with_greedy(self):
        rows = self.rows()
        vocabulary = run_json("show", "-m", str(bundled_model()))["vocabulary"]
        self.assertEqual(len(rows), 14 * vocabulary * 4)
        prompt = "One day"
        ids = run("tokenize", "-m", str(bundled_model()), "--ids", prompt).stdout.decode().strip()
        last = self.rows(tokens=ids)[-4 * vocabulary :]
        logits = struct.unpack(f"<{vocabulary}f", last)
        greedy = run_json("run", "-m", str(bundled_model()), *GREEDY, "-n", "1", prompt)
        self.assertEqual(logits.index(max(logits)), greedy["tokens"][0])

    def test_no_path_changes_a_bit(self):
        expected = self.rows()
        for variant in (("--chunks", "5,1,7"), ("--chunks", "1"), ("--chunks", "100"), ("-t", "1"),
                        ("-t", "3"), ("--isa", "scalar"), ("--isa", "scalar", "--chunks", "3,2")):
            with self.subTest(variant):
                self.assertEqual(self.rows(*variant), expected)
        self.assertNotEqual(self.rows("--kv-type", "f32"), expected)

    def test_the_file_is_the_same_as_stdout_and_tokens_come_from_anywhere(self):
        expected = self.rows()
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.f32"
            ids = Path(folder) / "ids.txt"
            ids.write_text(self.TOKENS.replace(",", "\n"))
            model = ("-m", str(bundled_model()))
            self.assert_ok(run("logits", *model, "--tokens-file", str(ids), "--out", str(out)))
            self.assertEqual(out.read_bytes(), expected)
            out.unlink()
            self.assert_ok(run("logits", *model, "--tokens-file", "-", "-o", str(out),
                               stdin=self.TOKENS.encode()))
            self.assertEqual(out.read_bytes(), expected)
            self.assertEqual(len(list(Path(folder).iterdir())), 2)

    def test_a_disk_that_fills_up_leaves_no_half_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.f32"
            out.write_bytes(b"what was there before")
            # The closest to a full disk that needs no rights: files may not pass 1000 bytes.
            done = run(
                "logits", "-m", str(bundled_model()), "--tokens", self.TOKENS, "--out", str(out),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
            )
            self.assert_fails(done, 4, "File too large")
            self.assertEqual(out.read_bytes(), b"what was there before")
            self.assertEqual(len(list(Path(folder).iterdir())), 1)

    def test_full_devices_and_closed_pipes(self):
        flags = ("logits", "-m", str(bundled_model()), "--tokens", self.TOKENS, "--out")
        self.assert_fails(run(*flags, "/dev/full"), 4, "No space left on device")
        self.assertTrue(Path("/dev/full").is_char_device())
        with open("/dev/full", "wb") as full:
            self.assert_fails(run(*flags, "-", stdout=full), 4, "No space left on device")
        reader, writer = os.pipe()
        os.close(reader)
        done = run(*flags, "-", stdout=writer)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (141, b""))
        self.assert_fails(run(*flags, "/nonexistent/rows"), 4, "/nonexistent/rows")

    def test_tokens_are_checked(self):
        flags = ("logits", "-m", str(bundled_model()), "--out", "/dev/null", "--tokens")
        for tokens in ("", "1,", "-1", "x", "2000000000"):
            with self.subTest(tokens):
                self.assertEqual(run(*flags, tokens).returncode, 2)


class CliQuantize(CommandTest):
    """`skald quantize`: another file with the same model, or nothing."""

    def test_the_new_file_is_the_model_in_fewer_bits(self):
        source = golden_model("llama-k-f32")
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "small.gguf"
            done = run("quantize", str(source), str(target), "Q4_K_M")
            self.assert_ok(done)
            self.assertIn(b"tensors quantized", done.stderr)
            facts = run_json("show", "-m", str(target), "--tensors")
            self.assertEqual({tensor["type"] for tensor in facts["tensors"]}, {"F32", "Q4_K", "Q6_K"})
            self.assertLess(facts["file_bytes"], source.stat().st_size / 5)
            before = run_json("show", "-m", str(source), "--metadata")["metadata"]
            after = run_json("show", "-m", str(target), "--metadata")["metadata"]
            kept = [entry for entry in before if entry["name"] != "general.file_type"]
            self.assertEqual(after[:len(kept)], kept)
            self.assert_ok(run("logits", "-m", str(target), "--tokens", "1,2,3", "--out", "/dev/null"))

    def test_what_is_refused_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "small.gguf"
            source = str(golden_model("llama-k-f32"))
            self.assert_fails(run("quantize", source, str(target), "Q3_K_M"), 2, "there are Q8_0, Q4_0")
            self.assert_fails(run("quantize", source, source, "Q8_0"), 2, "would be replaced")
            done = run("quantize", str(golden_model("llama-k-Q4_0")), str(target), "Q8_0")
            self.assert_fails(done, 2, "already")
            self.assertEqual(list(Path(folder).iterdir()), [])
            self.assert_ok(run("quantize", str(golden_model("llama-k-Q4_0")), str(target), "Q8_0",
                               "--allow-requantize", "-q"))


class CliGolden(CommandTest):
    """Models and answers of another engine: what tests/golden compares, by the command."""

    def test_the_recorded_rows_come_out(self):
        for name in ("llama", "qwen2", "qwen3"):
            with self.subTest(name):
                numbers = Setup.source / "tests/data/golden" / name
                case = json.loads(numbers.with_suffix(".json").read_text())
                recorded = numbers.with_suffix(".logits.f32").read_bytes()
                tokens = ",".join(str(token) for token in case["tokens"])
                done = run("logits", "-m", str(golden_model(name)), "--tokens", tokens, "--out", "-",
                           "--kv-type", "f32", "-q")
                self.assert_ok(done)
                self.assertEqual(len(done.stdout), len(recorded))
                pairs = zip(struct.iter_unpack("<f", done.stdout), struct.iter_unpack("<f", recorded))
                self.assertLess(max(abs(ours - theirs) for (ours,), (theirs,) in pairs), 2e-5)

    def test_a_file_with_nothing_but_a_vocabulary_tokenizes(self):
        vocabulary = Gguf().key("general.architecture", STRING, "llama")
        add_spm(vocabulary)
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "vocabulary.gguf"
            model.write_bytes(vocabulary.bytes())
            done = run("tokenize", "-m", str(model), "--ids", "--no-bos", "a the")
            self.assert_ok(done)
            # "th" has the best score; then nothing joins up to "\u2581the", which is a token, too.
            tokens = spm_vocabulary()[0]
            expected = [tokens.index(token) for token in ("\u2581a", "\u2581", "th", "e")]
            self.assertEqual(done.stdout.decode(), ",".join(map(str, expected)) + "\n")
            self.assert_ok(run("show", "-m", str(model)))
            self.assertNotEqual(run("run", "-m", str(model), "a").returncode, 0)


class Vocabularies(CommandTest):
    def test_a_file_with_nothing_but_a_vocabulary_tokenizes(self):
        folder = Setup.source / "tests/data/tokenizers"
        model = str(folder / "byte-level.gguf")
        place = folder.joinpath("texts.txt").read_bytes().split(b"\n__text__\n").index(b"Hello world")
        expected = folder.joinpath("default.ids").read_text().split("\n")[place].replace(" ", ",") + "\n"
        done = run("tokenize", "-m", model, "--ids", "Hello world")
        self.assert_ok(done)
        self.assertEqual(done.stdout.decode(), expected)
        self.assert_ok(run("show", "-m", model))
        self.assertNotEqual(run("run", "-m", model, "a").returncode, 0)


class CliSharedData(CommandTest):
    def test_the_published_story_comes_out_to_the_letter(self):
        # llama2.c's published text: 200 tokens from nothing but the beginning of a sequence.
        expected = shared_model().with_name("stories260K.expected.txt").read_bytes()
        self.assertEqual(len(expected), 464)
        for variant in ((), ("--isa", "scalar", "-t", "1"), ("-t", "3"), ("--kv-type", "f32")):
            with self.subTest(variant):
                done = run("run", "-m", str(shared_model()), "-p", "", "-n", "200", *GREEDY, *variant)
                self.assert_ok(done)
                self.assertEqual(done.stdout.decode(), expected.decode())

    def test_the_published_story_continues_its_own_beginning(self):
        expected = shared_model().with_name("stories260K.expected.txt").read_bytes()
        # "Once upon a time" is 4 tokens of the 200.
        done = run("run", "-m", str(shared_model()), "Once upon a time", "-n", "196", *GREEDY)
        self.assert_ok(done)
        self.assertEqual(done.stdout.decode(), expected.decode())

    def test_a_file_with_nothing_but_a_vocabulary_tokenizes(self):
        model = str(shared_model().parent.parent / "tokenizers/ggml-vocab-gpt-2.gguf")
        done = run("tokenize", "-m", model, "--ids", "Hello world")
        self.assert_ok(done)
        self.assertEqual(done.stdout, b"15496,995\n")
        self.assert_ok(run("show", "-m", model))
        self.assertNotEqual(run("run", "-m", model, "a").returncode, 0)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} BINARY SOURCE_DIR Cli|CliSharedData")
    Setup.binary = str(Path(sys.argv[1]).resolve())
    Setup.source = Path(sys.argv[2]).resolve()
    wants_shared = sys.argv[3] == "CliSharedData"
    suite = unittest.TestSuite()
    for case in CommandTest.__subclasses__():
        if (case is CliSharedData) == wants_shared:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    done = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if done.wasSuccessful() and done.testsRun > 0 else 1)


if __name__ == "__main__":
    main()
