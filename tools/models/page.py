"""The page docs/models.md: the families that skald runs, with a receipt for each.

    page.py                          the page must be what the table (models.json) gives
    page.py --golden GOLDEN_TEST     the same, and the measured differences must be those of that program
    page.py --write                  writes the page
    page.py --measure GOLDEN_TEST    measures anew (needs the large set beside the checkout), writes both
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools/models/models.json"
PAGE = ROOT / "docs/models.md"
FAMILIES = ROOT / "src/model/families/families.cc"
FOLDER_FAMILIES = ROOT / "src/huggingface/families"
FIELDS = {"architecture", "models", "features", "golden", "limits"}

HEAD = """# Models that run

A family is what a file calls its architecture (`general.architecture`). Every family below is compared with what
another engine recorded for small models of it with random float weights: the logits of 24 tokens, those behind a
prompt of 200, and 24 greedy tokens, which must be equal (`tests/golden`). The largest difference of a logit stands
behind the name of each such model; of an embedding model, that of a number of an embedding of length 1. Where the
publisher's code and that engine differ, skald follows the publisher ([conventions](conventions.md)); the comparison is
made with that engine's form. Models that only embed are marked so; they do not generate. The head of those that rank
pairs of texts was not recorded: it is compared with its formulas in double precision (tests/promises).
Its GELU goes through a table of half floats: that is the larger difference of Gemma 2 and 3 and of GPT-2.

What holds for all: weights in any type that `README.md` lists, mixed as a file has them; text only, no
images. Layers that predict further tokens are left in the file. How a model writes calls of tools hangs on its chat
template, not on its family: [chat](chat.md) has the formats.

"""

FOLDERS = """
## Folders

The folder of a publisher (config.json, tokenizer.json, model.safetensors, also in several files) runs without conversion for the
`model_type`
{types}.
Its tokenizer is a byte-pair encoding of bytes or of characters, WordPiece or Unigram; how embeddings are pooled stands in
modules.json, and of EmbeddingGemma the two matrices behind that. Classes `...ForSequenceClassification` of `bert`,
`modernbert` and `xlm-roberta` with one label rank pairs of texts. Weights in F32, F16, BF16, FP8 (E4M3 with scales of square
blocks, as BF16) and gpt-oss' MXFP4. `tests/huggingface` makes such folders of GGUF files and compares all logits, embeddings or
relevances bit for bit, and the ids of texts. They are written by the test: no published one could be fetched where skald is
tested.
"""

TAIL = """
This page is made from `tools/models/models.json` by `python3 tools/models/page.py --write`. A new family needs a row there;
`python3 tools/models/page.py --measure build/release/golden_test` measures its differences.
"""


def families():
    """The names in the list of the sources."""
    return re.findall(r'Family\{"([^"]+)"', FAMILIES.read_text())


def model_types():
    """What config.json may say, in the sources."""
    sources = "".join(path.read_text() for path in sorted(FOLDER_FAMILIES.glob("*.cc")))
    return sorted(set(re.findall(r'\.(?:model|other)_type = "([^"]+)"', sources)))


def folders():
    types = ", ".join("`%s`" % name for name in model_types())
    return FOLDERS.format(types=textwrap.fill(types, 125, break_on_hyphens=False))


def problems_of_rows(table, names):
    rows = [row["architecture"] for row in table["families"]]
    found = ["%s has no row for the family '%s'" % (TABLE.name, name) for name in names if name not in rows]
    found += ["%s has a row for '%s', which is no family" % (TABLE.name, row) for row in rows if row not in names]
    if rows != sorted(set(rows)):
        found.append("rows of %s are not in order, or stand twice" % TABLE.name)
    for row in table["families"]:
        found += ["row '%s': unknown field '%s'" % (row["architecture"], key) for key in row if key not in FIELDS]
        found += ["row '%s': nothing was measured for '%s'" % (row["architecture"], name)
                  for name in row["golden"] if name not in table["measured"]]
        if not row["golden"]:
            found.append("row '%s' was compared with nothing" % row["architecture"])
    return found


def page(table):
    lines = ["| family | models | features | compared, largest difference | limits |", "|---|---|---|---|---|"]
    for row in table["families"]:
        compared = ", ".join("%s %.1e" % (name, table["measured"].get(name, float("nan"))) for name in row["golden"])
        lines.append("| `%s` | %s | %s | %s | %s |" % (row["architecture"], row["models"], row["features"], compared,
                                                       row.get("limits", "")))
    return HEAD + "\n".join(lines) + "\n" + folders() + TAIL


def measure(program):
    """The largest difference of each case, and whether the large set was there."""
    run = subprocess.run([program, "--gtest_filter=*FloatFamilies*:*TableFamilies*:*EmbeddingFamilies*"], capture_output=True, text=True, check=False)
    line = re.compile(r"^(\S+): largest (?:logit|embedding) difference ([^\s,]+)(?:, behind a long prompt (\S+))?$", re.MULTILINE)
    found = {}
    for name, difference, behind in line.findall(run.stdout):
        found[name] = max(found.get(name, 0.0), float(difference), float(behind or 0))
    return found, "SharedData" in run.stdout and run.returncode == 0


def problems_of_measures(table, program):
    found, complete = measure(program)
    named = {name for row in table["families"] for name in row["golden"]}
    problems = [] if found else ["%s printed no difference" % program]
    for name in sorted(named & set(found)):
        noted = table["measured"].get(name, -1)
        # Without the large set the models of the clone alone: no more than both.
        if found[name] > noted or (complete and found[name] != noted):
            problems.append("'%s' differs by %.2e, %s says %.2e" % (name, found[name], TABLE.name, noted))
    if complete:
        problems += ["no golden case '%s'" % name for name in sorted(named - set(found))]
    return problems


def write_table(table):
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=True) for row in table["families"])
    measured = ",\n".join("    %s: %.2e" % (json.dumps(name), table["measured"][name])
                          for name in sorted(table["measured"]))
    TABLE.write_text('{\n  "families": [\n%s\n  ],\n  "measured": {\n%s\n  }\n}\n' % (rows, measured))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--golden", metavar="GOLDEN_TEST")
    parser.add_argument("--measure", metavar="GOLDEN_TEST")
    args = parser.parse_args()
    table = json.loads(TABLE.read_text())
    if args.measure:
        found, complete = measure(args.measure)
        if not complete:
            sys.exit("the large set is not there, or a case of it failed: nothing is written")
        named = {name for row in table["families"] for name in row["golden"]}
        table["measured"] = {name: found[name] for name in named if name in found}
        write_table(table)
    if args.write or args.measure:
        PAGE.write_text(page(table))
    problems = problems_of_rows(table, families())
    if PAGE.read_text() != page(table):
        problems.append("docs/models.md is not what the table gives: python3 tools/models/page.py --write")
    if args.golden:
        problems += problems_of_measures(table, args.golden)
    print("\n".join(problems) if problems else "models: %d families" % len(table["families"]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
