#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Kill a loaded guest, boot another one on the same memory, and so on.

Each guest verifies what the one before left behind, against a ledger that is
memory of this process: what was acknowledged has left the guest at that
moment.  Then it is killed at work (the program "killed"), at a moment that the
seed decides as far as a program can: when so many operations are done.

A killed QEMU loses no cache line: attach, the walk and everything that a death
at any instruction leaves half done are tested, the order of flushes is not.
"""
import argparse
import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
LEDGER_SIZE = 1 << 20
POOL_SIZE = 128 << 20
KILLED = 93                     # run.sh: QEMU was killed

# how often, and how many operations at most before death; format has none
# ("singly" is "atomic" as it must not be: what is left then has to be found)
MODES = {'load': (10, 60000), 'walk': (4, 3000), 'catalogue': (3, 8000),
         'format': (2, 0), 'atomic': (6, 6000), 'singly': (0, 6000)}

# enum load_phase
BOOTING, ATTACHED, LOADING, DONE = range(4)


class Ledger:
    """The first words of struct load (load.h)."""

    def __init__(self, path):
        path.write_bytes(bytes(LEDGER_SIZE))
        with open(path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), LEDGER_SIZE)

    def words(self, first, nr):
        return struct.unpack_from(f'<{nr}Q', self.map, 8 * first)

    def begin(self):
        struct.pack_into('<Q', self.map, 0, BOOTING)

    def phase(self):
        return self.words(0, 1)[0]

    def walking(self):
        return self.words(2, 1)[0]

    def formats(self):
        return self.words(3, 1)[0]

    def ops(self):
        return sum(self.words(4, 4))

    def redone(self):
        return self.words(13, 1)[0]

    def found(self):
        return dict(zip(('records', 'done', 'undone'), self.words(8, 3)))


class Guest:
    def __init__(self, args, work, ledger, mode, seed):
        self.ledger = ledger
        self.pid_file = work / 'pid'
        self.log = work / 'log'
        self.pid_file.unlink(missing_ok=True)
        ledger.begin()
        memory = (f'-object memory-backend-file,id=ledger,share=on,'
                  f'mem-path={work}/ledger,size={LEDGER_SIZE}'
                  f' -device ivshmem-plain,memdev=ledger')
        command = f'cd /t && insmod wort.ko && ./killed {mode} {seed:#x}'
        self.run = subprocess.Popen(
            [TOP / 'selftests/vm/run.sh', '-k', args.flavour,
             '-l', 'libcrc32c', '-t', str(args.limit), '-i', work / 'pmem',
             '-p', self.pid_file, '-q', memory, '-c', command,
             '-f', f'{args.programs}/wort.ko:/t/wort.ko',
             '-f', f'{args.programs}/killed:/t/killed'],
            stdout=open(self.log, 'w'), stderr=subprocess.STDOUT)

    def wait_for(self, condition):
        """False if the guest ended first."""
        while not condition():
            if self.run.poll() is not None:
                return False
            time.sleep(0.0005)
        return True

    def kill(self):
        os.kill(int(self.pid_file.read_text()), signal.SIGKILL)

    def status(self):
        return self.run.wait()


def wait_for_moment(guest, ledger, mode, rng):
    """Death comes as soon as this returns True."""
    if mode == 'format':
        formats = ledger.formats() + rng.randrange(1, 30)
        arrived = guest.wait_for(lambda: ledger.formats() >= formats)
        time.sleep(rng.random() * 0.02)
        return arrived
    target = rng.randrange(MODES[mode][1])
    return guest.wait_for(lambda: ledger.phase() == LOADING and
                          ledger.ops() >= target)


def fail(number, text, guest):
    print(f'round {number}: {text}')
    print(guest.log.read_text(errors='replace'))
    sys.exit(1)


class Totals:
    def __init__(self):
        self.modes = dict.fromkeys(MODES, 0)
        self.ops = self.done = self.undone = self.walking = self.redone = 0

    def add(self, ledger):
        self.done += ledger.found()['done']
        self.undone += ledger.found()['undone']
        self.walking += ledger.walking()
        self.redone += ledger.redone()

    def __str__(self):
        killed = ', '.join(f'{nr} in {mode}' for mode, nr in self.modes.items()
                           if nr)
        return (f'{sum(self.modes.values())} kills ({killed}), {self.ops} '
                f'operations; of those under way {self.done} were done, '
                f'{self.undone} not; {self.walking} times verified beside '
                f'the walk; attach carried out {self.redone} atomic batches; '
                f'0 wrong')


def kill_round(args, work, ledger, number, rng, totals):
    mode = args.mode or rng.choices(
        list(MODES), [often for often, _ in MODES.values()])[0]
    guest = Guest(args, work, ledger, mode, rng.getrandbits(63))
    if not wait_for_moment(guest, ledger, mode, rng):
        fail(number, f'the guest ended with {guest.status()}', guest)
    guest.kill()
    if guest.status() != KILLED:
        fail(number, f'status {guest.status()} instead of {KILLED}', guest)
    totals.modes[mode] += 1
    totals.ops += ledger.ops()
    text = f'round {number}: killed in {mode} after {ledger.ops()} operations'
    if mode != 'walk':
        totals.add(ledger)
        text += (', before: {records} records, of those under way {done} '
                 'done, {undone} not').format(**ledger.found())
        text += ', beside the walk' if ledger.walking() else ''
    print(text, flush=True)


def last_round(args, work, ledger, totals):
    guest = Guest(args, work, ledger, 'end', 0)
    if guest.status() or ledger.phase() != DONE:
        fail('last', f'the guest ended with {guest.status()}', guest)
    totals.add(ledger)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('-k', dest='flavour', default='6.1',
                        help='kernel, as run.sh has it (6.1)')
    parser.add_argument('-r', dest='rounds', type=int, default=5,
                        help='how many kills (5)')
    parser.add_argument('-s', dest='seed', type=lambda s: int(s, 0),
                        default=random.getrandbits(32),
                        help='repeat the rounds of this seed')
    parser.add_argument('-m', dest='mode', choices=MODES,
                        help='kill only in this mode')
    parser.add_argument('-p', dest='programs',
                        help='folder of wort.ko and killed')
    parser.add_argument('-t', dest='limit', type=int, default=300,
                        help='time limit of a guest in seconds (300)')
    args = parser.parse_args()
    args.programs = args.programs or TOP / f'build/guest-{args.flavour}'
    return args


def main():
    args = parse_args()
    work = TOP / f'build/kills-{args.flavour}'
    work.mkdir(parents=True, exist_ok=True)
    (work / 'pmem').unlink(missing_ok=True)
    with open(work / 'pmem', 'wb') as pmem:
        pmem.truncate(POOL_SIZE)
    ledger, totals = Ledger(work / 'ledger'), Totals()
    rng = random.Random(args.seed)
    print(f'seed {args.seed:#x}, {args.rounds} rounds on {args.flavour}')
    for number in range(1, args.rounds + 1):
        kill_round(args, work, ledger, number, rng, totals)
    last_round(args, work, ledger, totals)
    (work / 'pmem').unlink()
    print(f'{totals} (seed {args.seed:#x})')


if __name__ == '__main__':
    main()
