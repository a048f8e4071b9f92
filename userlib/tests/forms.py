#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""forms.py WORT-STUB [ROUNDS]: records as text.

What dump writes in any form, load reads back, byte for byte, and nothing in it
acts on a terminal; load takes a line whole or refuses it with its number.
WORT_STUB names the image of the stub.
"""
import csv
import io
import os
import random
import re
import subprocess
import sys

# What a terminal acts on, or shows in another order than it is in.
ACTS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                  "\u2066-\u2069\ufeff\udc80-\udcff]")
FORMS = [[*form, *keys] for form in (["-F", "tsv"], ["-F", "jsonl"])
         for keys in ([], ["-x"], ["-n"], ["-x", "-n"])]
PIECES = [b"\\", b'"', b"'", b"\t", b"\n", b"\r", b"\0", b"\x1b[2J", b"\x7f",
          b"\\x41", b"\\", b"{", b"}", b",", b" ", b"/", b"0", b"7", b"0x1f",
          b"\xef\xbb\xbf", b"\xc2\x9b", b"\x9b", b"\xe2\x80\xae", b"\xed\xa0\x80",
          b"\xf0\x9f\x98\x80", b"\xc3\xa4", b"\xff", b"12345678", b"null"]

# form, what stands on the lines, number of the line that is refused, why
REFUSED = [
    ("tsv", b"k\tv\nl\tw", 2, "no newline"),
    ("tsv", b"k\tv\nl\t", 2, "no newline"),
    ("tsv", b"k\tv\nl\n", 2, "no tab"),
    ("tsv", b"k\tv\n\n", 2, "no tab"),
    ("tsv", b"k\tv\n\tv\n", 2, "empty key"),
    ("tsv", b"k\tv\r\n", 1, "CR LF"),
    ("tsv", b"\xef\xbb\xbfk\tv\n", 1, "byte-order mark"),
    ("tsv", b"k\\q\tv\n", 1, "bad key"),
    ("tsv", b"k\tv\\x4\n", 1, "bad value"),
    ("tsv", b"k" * 1025 + b"\tv\n", 1, "too long"),
    ("tsv -c", b"k\tv\nl\tv\nk\tw\n", 3, "the key exists"),
    ("tsv -b1 -c", b"k\tv\nl\tv\nk\tw\n", 3, "the key exists"),
    ("lines", b"k\nl", 2, "no newline"),
    ("lines", b"k\nl\r\n", 2, "CR LF"),
    ("lines", b"k\n\n", 2, "empty key"),
    ("tsv -n", b"1\ta\n18446744073709551616\tv\n", 2, "bad key"),
    ("tsv -n", b"1\ta\n-1\tv\n", 2, "bad key"),
    ("tsv -n", b"1\ta\n+1\tv\n", 2, "bad key"),
    ("tsv -n", b" 1\tv\n", 1, "bad key"),
    ("tsv -n", b"12\0junk\tv\n", 1, "bad key"),
    ("tsv -n", b"abc\tv\n", 1, "bad key"),
    ("tsv -n", b'"abc\tv\n', 1, "bad key"),
    ("tsv -n", b'""\tv\n', 1, "empty key"),
    ("tsv -n", b"0x\tv\n", 1, "bad key"),
    ("tsv -x", b"6\tv\n", 1, "bad key"),
    ("tsv -x", b"61\tv\n", 1, "bad value"),
    ("jsonl", b'{"key":"a","value":"1"}{"key":"b","value":"2"}\n', 1, "after"),
    ("jsonl", b'{"key":"a","value":"1"} tail\n', 1, "after"),
    ("jsonl", b'{"key":"a","value":"1"}\n{"key":"b","val', 2, "without an end"),
    ("jsonl", b'{"key":"a","value":"1"\n', 1, "without an end"),
    ("jsonl", b'{"key":"a","value":\n', 1, "without an end"),
    ("jsonl", b'{"key":"a"}\n', 1, "no value"),
    ("jsonl", b'{"value":"a"}\n', 1, "no key"),
    ("jsonl", b'{"key":"a","key":"b","value":"1"}\n', 1, "twice"),
    ("jsonl", b'{"key":"a","key_hex":"62","value":"1"}\n', 1, "twice"),
    ("jsonl", b'{"key":"a","value":"1","ttl":5}\n', 1, "neither"),
    ("jsonl", b'{"key":18446744073709551616,"value":"a"}\n', 1, "64 bits"),
    ("jsonl", b'{"key":99999999999999999999999,"value":"b"}\n', 1, "64 bits"),
    ("jsonl", b'{"key":-1,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":1.5,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":1e3,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":010,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":0x10,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":null,"value":"b"}\n', 1, "whole number"),
    ("jsonl", b'{"key":"\\ud800","value":"b"}\n', 1, "surrogate"),
    ("jsonl", b'{"key":"\\udc00","value":"b"}\n', 1, "surrogate"),
    ("jsonl", b'{"key":"\\ud800\\u0041","value":"b"}\n', 1, "surrogate"),
    ("jsonl", b'{"key":"\\u12","value":"b"}\n', 1, "bad"),
    ("jsonl", b'{"key":"\\q","value":"b"}\n', 1, "bad escape"),
    ("jsonl", b'{"key":"\xff","value":"b"}\n', 1, "UTF-8"),
    ("jsonl", b'{"key":"a\tb","value":"b"}\n', 1, "control"),
    ("jsonl", b'{"key_hex":"6","value":"b"}\n', 1, "hexadecimal"),
    ("jsonl", b'{"key_hex":6,"value":"b"}\n', 1, "hexadecimal"),
    ("jsonl", b'{"key":"","value":"b"}\n', 1, "empty key"),
    ("jsonl", b'\xef\xbb\xbf{"key":"a","value":"b"}\n', 1, "byte-order mark"),
    ("jsonl", b'["a","b"]\n', 1, "not a JSON object"),
    ("jsonl", b"\n", 1, "not a JSON object"),
]

# options, lines of a batch, number of the line that is refused, why
REFUSED_BATCHES = [
    ("", b"put\tto\tk\tv", 1, "no newline"),
    ("", b"put\tto\tk\tv\r\n", 1, "CR LF"),
    ("", b"\xef\xbb\xbfput\tto\tk\tv\n", 1, "byte-order mark"),
    ("", b"# one\n\nput to k v\n", 3, "none of put"),
    ("", b"put\tto\tk\tv\nPUT\tto\tk\tv\n", 2, "none of put"),
    ("", b"put\tto\tk\n", 1, "missing"),
    ("", b"put\n", 1, "missing"),
    ("", b"get\tto\tk\tv\n", 1, "too many"),
    ("", b"put\tto\tk\tv\tw\n", 1, "too many"),
    ("", b"cas\tto\tk\tv\n", 1, "missing"),
    ("", b"del\tto\tk\tv\tw\n", 1, "too many"),
    ("", b"put\t\tk\tv\n", 1, "empty name"),
    ("", b"put\tt\\x00o\tk\tv\n", 1, "bad name"),
    ("", b"put\tt\0o\tk\tv\n", 1, "bad name"),
    ("", b"put\tto\t\tv\n", 1, "empty key"),
    ("", b"put\tto\t\\q\tv\n", 1, "bad key"),
    ("", b"put\tto\tk\t\\x4\n", 1, "bad value"),
    ("", b"cas\tto\tk\t\\x4\tv\n", 1, "bad value"),
    ("", b"put\tto\tk\tv\n" * 65, 65, "64"),
    ("", b"put\tto\t" + b"k" * 1025 + b"\tv\n", 1, "too long"),
    ("", b"".join(b"put\tto\t%d\t%s\n" % (nr, b"v" * 65536)
                  for nr in range(4)), 4, "256 KiB"),
    ("-n", b"put\tto\t18446744073709551616\tv\n", 1, "bad key"),
    ("-x", b"put\tto\t6\tv\n", 1, "bad key"),
    ("-x", b"put\tto\t61\tv\n", 1, "bad value"),
]

# form, lines, what is stored
TAKEN = [
    ("tsv", b"k\tv\tw\nl\t\n", {b"k": b"v\tw", b"l": b""}),
    ("lines", b"a b\n\xef\xbb\n", {b"a b": b"", b"\xef\xbb": b""}),
    ("tsv -n", b"010\ta\n0x10\tb\n", {bytes(7) + b"\x0a": b"a",
                                      bytes(7) + b"\x10": b"b"}),
    ("tsv -n", b'18446744073709551615\ta\n"18"\tb\n', {b"\xff" * 8: b"a",
                                                       b"18": b"b"}),
    ("jsonl", b' { "value" : "\\ud83d\\ude00\\u0000" , "key" : 7 } \r\n'
              b'{"key_hex":"00","value_hex":""}',
     {bytes(7) + b"\x07": "\U0001f600\0".encode(), b"\0": b""}),
]

# options, CSV, line that is refused, why
REFUSED_CSV = [
    ("--key=k", b"", 1, "no column k"),
    ("--key=k", b"a,b\r\n", 1, "no column k"),
    ("--key=a --value=v", b"a,b\n", 1, "no column v"),
    ("--key=a", b"a,b,a\n", 1, "twice"),
    ("--key=a --value=b", b"a,b\n1,2\n3\n", 3, "1 fields, but the header has 2"),
    ("--key=a --value=b", b"a,b\n1,2\n3,4,5\n", 3, "3 fields"),
    ("--key=a --value=b", b"a,b\n1,2\n\n", 3, "1 fields"),
    ("--key=a", b"a\n1\n\n", 3, "empty key"),
    ("--key=a --value=b", b'a,b\n"x\ny",2\n1,"2', 4, "without an end"),
    ("--key=a --value=b", b'a,b\n"x\ny",2\n1,2"3\n', 4, "a quote inside"),
    ("--key=a --value=b", b'a,b\n"1"2,3\n', 2, "closing quote"),
    ("--key=a --value=b", b"a,b\n1,2\r3\n", 2, "a CR"),
    ("--key=a --value=b", b'a,b\n1,"2"\r3\n', 2, "a CR"),
    ("--key=a --value=b", b"a,b\n" + b"1" * 1025 + b",2\n", 2, "too long"),
    ("--key=a --value=b", b'a,b\n1,"' + b"x" * 200000, 2, "too long"),
    ("--key=a -n", b"a\n1\nx\n", 3, "bad key"),
    ("--key=a -n", b"a\n18446744073709551616\n", 2, "64 bits"),
    ("--key=a --value=b -x", b"a,b\n6,61\n", 2, "bad key"),
    ("--key=a --value=b -x", b"a,b\n61,6\n", 2, "bad value"),
    # The record that is refused does not stand on the line of its number.
    ("--key=a -c", b'a,b\n"x\n\ny",1\n2,3\n2,3\n', 6, "the key exists"),
    ("--key=a -c -b1", b'a,b\n"x\n\ny",1\n2,3\n2,3\n', 6, "the key exists"),
]

# options, CSV, what is stored
TAKEN_CSV = [
    ("--key=k --value=v", b"k,v\r\na,1\r\nb,2\r\n", {b"a": b"1", b"b": b"2"}),
    ("--key=k --value=v", b"v,x,k\n1,,a\n2,\"q\",b", {b"a": b"1", b"b": b"2"}),
    ("--key=k --value=v", b'\xef\xbb\xbf"k","v"\n"a,""b""\r\nc","d\n"\n',
     {b'a,"b"\r\nc': b"d\n"}),
    ("--key=\xef\xbb --value=v", b"\xef\xbb,v\na,\n", {b"a": b""}),
    ("--key=k", b"k,v\na\\t,1\n", {b"a\\t": b""}),
    ("--key=k --value=k", b"k\na\n", {b"a": b"a"}),
    ("--key=k --value=v -n", b"k,v\n010,x\n0x10,y\n",
     {bytes(7) + b"\x0a": b"x", bytes(7) + b"\x10": b"y"}),
    ("--key=k --value=v -x", b"k,v\n00ff,0a\n", {b"\0\xff": b"\n"}),
    ("--key=k", b"k", {}),
]

failures = 0


def text_of(said):
    """What is no UTF-8 becomes characters that a terminal acts on."""
    return said.decode(errors="surrogateescape")


def wrong(text):
    global failures
    print(f"forms.py: {text!a}")
    failures += 1


class Command:
    def __init__(self, program):
        self.program = program

    def __call__(self, *args, data=b"", status=0):
        done = subprocess.run([self.program, *args], input=data,
                              capture_output=True, check=False)
        if done.returncode != status:
            wrong(f"wort {' '.join(map(repr, args))[:99]}: status "
                  f"{done.returncode}, not {status}: {done.stderr}")
        return done.stdout, text_of(done.stderr)

    def fresh(self, name):
        self("create", "-k", "0", "--", name)
        self("destroy", "0", "--", name)
        self("create", "0", "--", name)

    def records(self, name):
        """What is in an index, in the form that has no rules."""
        lines = self("dump", "-q", "-x", "0", "--", name)[0].decode().splitlines()
        return {bytes.fromhex(key): bytes.fromhex(value)
                for key, value in (line.split("\t") for line in lines)}

    def load(self, name, form, data, status=0):
        kind, *keys = form.split() if isinstance(form, str) else \
            [form[1], *form[2:]]
        return self("load", "-q", "-F", kind, *keys, "0", name, data=data,
                    status=status)


def count_of(said):
    return int(said.split(b" ", 1)[0])


def any_bytes(rng, least):
    text = b"".join(rng.choice(PIECES) if rng.random() < 0.7 else
                    rng.randbytes(rng.randrange(4))
                    for _ in range(rng.randrange(6)))
    return text or rng.randbytes(least)


def random_records(rng):
    records = {any_bytes(rng, 1): any_bytes(rng, 0) for _ in range(60)}
    for text in b"123", b"0", b'"123"', b"12345678", b"0x1f":
        records[text] = any_bytes(rng, 0)
    for number in 123, 0, 2**64 - 1, rng.randrange(2**64):
        records[number.to_bytes(8, "big")] = any_bytes(rng, 0)
    return records


def round_trips(wort, rng):
    records = random_records(rng)
    wort.fresh("from")
    said, _ = wort.load("from", "tsv -x", b"".join(
        f"{key.hex()}\t{value.hex()}\n".encode()
        for key, value in records.items()))
    if count_of(said) != len(records) or wort.records("from") != records:
        wrong("hexadecimal records are not what was loaded")
    for form in FORMS:
        text, _ = wort("dump", "-q", *form, "0", "from")
        if ACTS.search(text_of(text)):
            wrong(f"{form}: a terminal acts on {text}")
        wort.fresh("to")
        said, _ = wort.load("to", form, text)
        if count_of(said) != len(records) or wort.records("to") != records:
            wrong(f"{form}: {text} is not read back")
    for form in ["lines"], ["lines", "-x"], ["lines", "-n"]:
        form = ["-F", *form]
        keys, _ = wort("dump", "-q", *form, "0", "from")
        wort.fresh("to")
        wort.load("to", form, keys)
        if wort.records("to") != dict.fromkeys(records, b""):
            wrong(f"{form}: keys are not read back")


def refused(wort):
    for form, data, line, why in REFUSED:
        wort.fresh("to")
        said, complaint = wort.load("to", form, data, status=3)
        if f": line {line}: " not in complaint or why not in complaint:
            wrong(f"{form} {data}: {complaint}")
        if not count_of(said) == len(wort.records("to")) == line - 1:
            wrong(f"{form} {data}: {said}, and {wort.records('to')}")


def taken(wort):
    for form, data, records in TAKEN:
        wort.fresh("to")
        said, _ = wort.load("to", form, data)
        if wort.records("to") != records or count_of(said) != len(records):
            wrong(f"{form} {data}: {wort.records('to')}")


def csv_forms(wort, rng):
    def load(options, data, status=0):
        return wort("load", "-q", "--csv",
                    *map(os.fsencode, options.encode("latin-1").split()), "0",
                    "to", data=data, status=status)

    for options, data, line, why in REFUSED_CSV:
        wort.fresh("to")
        said, complaint = load(options, data, 3)
        if f": line {line}: " not in complaint or why not in complaint:
            wrong(f"{options} {data[:99]}: {complaint}")
        if count_of(said) != len(wort.records("to")):
            wrong(f"{options} {data[:99]}: {said}, and {wort.records('to')}")
    for options, data, records in TAKEN_CSV:
        wort.fresh("to")
        said, _ = load(options, data)
        if wort.records("to") != records or count_of(said) != len(records):
            wrong(f"{options} {data}: {wort.records('to')}")
    # What another writer of CSV writes.
    records = {key.decode("latin-1"): value.decode("latin-1")
               for key, value in random_records(rng).items()}
    for dialect in "excel", "unix":
        text = io.StringIO(newline="")
        writer = csv.writer(text, dialect)
        writer.writerow(["other", "a value", "the key"])
        writer.writerows(["x", value, key] for key, value in records.items())
        wort.fresh("to")
        wort("load", "-q", "--csv", "--key=the key", "--value", "a value", "0", "to",
             data=text.getvalue().encode("latin-1"))
        if wort.records("to") != {key.encode("latin-1"): value.encode("latin-1")
                                  for key, value in records.items()}:
            wrong(f"{dialect}: not read as it was written")
    wort("load", "--csv", "0", "to", status=2)
    wort("load", "--key=k", "0", "to", status=2)
    wort("load", "--csv", "--key=k", "-F", "tsv", "0", "to", status=2)


def batches(wort, rng):
    """What the lookups of a batch answer are conditions of the next one."""
    for options in [], ["-x"], ["-n"], ["-x", "-n"]:
        records = dict(list(random_records(rng).items())[:29])
        name = any_bytes(rng, 1)[:111].replace(b"\0", b"") or b"n"
        wort.fresh(name)
        wort.fresh("to")
        escaped = b"".join(b"\\x%02x" % byte for byte in name)
        wort("atomic", "-x", "0", data=b"".join(
            b"put\t%s\t%s\t%s\n" % (escaped, key.hex().encode(),
                                    value.hex().encode())
            for key, value in records.items()))
        if wort.records(name) != records:
            wrong(f"{wort.records(name)}, not {records}")
        lookups = b"".join(b"get\t%s\t%s\n" % (escaped, line.split(b"\t")[0])
                           for line in wort("dump", "-q", *options, "0", "--", name)
                           [0].splitlines())
        number = b"0" if "-n" in options else b"0bad"
        answers, _ = wort("atomic", *options, "0", data=lookups +
                          b"get\tto\t" + number + b"\n")
        if ACTS.search(text_of(answers)) or len(answers.splitlines()) != 30:
            wrong(f"{options}: {answers}")
        answers += b"insert\tto\t" + number + b"\t\n"
        wort("atomic", *options, "0", data=answers)
        if len(wort.records("to")) != 1:
            wrong(f"{options}: {answers} was not carried out")
        _, said = wort("atomic", *options, "0", data=answers, status=1)
        if ": line 30: absent to " not in said:
            wrong(f"{options}: {said}")
        wort("destroy", "0", "--", name)


def refused_batches(wort):
    wort.fresh("to")
    for options, data, line, why in REFUSED_BATCHES:
        _, said = wort("atomic", *options.split(), "0", data=data, status=3)
        if f": line {line}: " not in said or why not in said:
            wrong(f"atomic {options} {data[:99]}: {said}")
        if len(said) > 1000:
            wrong(f"atomic {data[:99]}: a complaint of {len(said)} bytes")
    if wort.records("to"):
        wrong(f"a part of a batch was carried out: {wort.records('to')}")
    # Long values together are too long for the answers; all are done all the same.
    wort("atomic", "0", data=b"put\tto\tlong\t" + b"v" * 65536 + b"\n")
    said = wort("atomic", "0", data=b"get\tto\tlong\n" * 3)[0]
    if said != (b"expect\tto\tlong\t" + b"v" * 65536 + b"\n") * 3:
        wrong("three long values are not answered")
    _, said = wort("atomic", "0", data=b"put\tto\tk\tv\n" +
                   b"get\tto\tlong\n" * 5, status=3)
    if "65536 bytes are too long" not in said or b"k" not in wort.records("to"):
        wrong(f"five long values: {said}")


def complaints(wort):
    """Arguments reach the terminal in complaints, names in answers."""
    hostile = "no\x1b[2J\x9b2J\u202e'\n"
    for args in (["get", "0", hostile, "k"], ["stat", hostile],
                 ["get", "-o", "json", "0", hostile, "k"],
                 ["get", "-x", "0", "to", hostile], ["list", "-o", hostile],
                 ["doctor", hostile], ["doctor", "-o", "json", hostile],
                 ["attach", "LABEL=" + hostile], [hostile], ["-" + hostile],
                 ["list", "--" + hostile], ["list", "-\x1b"],
                 ["scan", "-l", hostile, "0", "to"],
                 ["load", "0", "to", hostile], ["atomic", "0", hostile]):
        done = subprocess.run([wort.program, *args], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        said = text_of(done.stdout + done.stderr)
        if not done.returncode or ACTS.search(said) or hostile in said:
            wrong(f"wort {args!r}: {done.returncode}, {said!r}")
    wort.fresh(hostile)
    wort("put", "0", hostile, hostile, hostile)
    for args in (["list", "0"], ["scan", "0", hostile], ["stat", "0", hostile],
                 ["list", "-o", "json", "0"],
                 ["get", "-o", "json", "0", hostile, hostile]):
        said = text_of(wort(*args)[0])
        if ACTS.search(said) or "\u202e" in said:
            wrong(f"wort {args!r}: {said!r}")
    wort("destroy", "0", hostile)


def numbers(wort):
    for args, status in ((["detach", "4294967296"], 1),
                         (["list", "4294967296"], 1),
                         (["list", "18446744073709551616"], 1),
                         (["scan", "-l", "18446744073709551616", "0", "to"], 2),
                         (["scan", "-l", "1\n", "0", "to"], 2),
                         (["scan", "-l", " 1", "0", "to"], 2),
                         (["scan", "-l", "+1", "0", "to"], 2),
                         (["scan", "-l", "", "0", "to"], 2),
                         (["scan", "-l", "k", "0", "to"], 2),
                         (["scan", "-l", "17179869184G", "0", "to"], 2)):
        wort(*args, status=status)
    wort.fresh("to")
    wort.load("to", "lines", b"".join(b"%02d\n" % nr for nr in range(20)))
    if wort("scan", "-l", "010", "0", "to")[0].count(b"\n") != 10:
        wrong("a limit of 010 is not 10")
    for verb in (["put"], ["get"], ["del"], ["cas"]):
        args = ["e", "v"] if verb == ["cas"] else []
        _, said = wort(*verb, "0", "to", "k" * 3000, *args, status=2)
        if "1024" not in said:
            wrong(f"{verb}: {said}")
    for option in "-s", "-a", "-b", "-p":
        for verb in "scan", "count", "dump":
            _, said = wort(verb, option, "k" * 3000, "0", "to", status=2)
            if "1024" not in said:
                wrong(f"{verb} {option}: {said}")


def main():
    wort = Command(sys.argv[1])
    subprocess.run([sys.argv[1], "detach", "0"], stderr=subprocess.DEVNULL,
                   check=False)
    wort("format", "-f", os.environ["WORT_STUB"])
    wort("attach", os.environ["WORT_STUB"])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(rounds):
        round_trips(wort, rng)
    refused(wort)
    taken(wort)
    csv_forms(wort, rng)
    batches(wort, rng)
    refused_batches(wort)
    complaints(wort)
    numbers(wort)
    print(f"{rounds} round trips (seed {seed}), "
          f"{len(REFUSED + REFUSED_CSV + REFUSED_BATCHES)} inputs refused")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
