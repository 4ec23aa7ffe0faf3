// Compares the transports `grpc-js` and `lean` on many hostile scripts: node --conditions=@node-agent/source
// differential-main.ts SEED COUNT The cases run in child processes, because some scripts make Node.js's own HTTP/2
// client, under grpc-js, abort its process ("Assertion failed: (current_nghttp2_memory_) == (0)").
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Differential } from './differential.ts';

/** Maximum number of concurrent cases, which mostly wait. */
const PARALLEL = 24;
const BATCH = 1_000;

/** Newest seed whose case was started, and the sums of the results so far. */
interface Report {
  readonly seed: number;
  readonly sums: Record<string, number>;
}

const [first = 1, count = 1000] = process.argv.slice(2).map(Number);
if (process.send === undefined) await runAll();
else await runBatch();

async function runAll(): Promise<void> {
  const total: Record<string, number> = { cases: 0, differences: 0, aborts: 0 };
  const startMs = performance.now();
  for (let seed = first; seed < first + count; ) {
    const end = Math.min(seed + BATCH, first + count);
    const { next, sums } = await batch(seed, end);
    total.aborts = (total.aborts ?? 0) + (next < end ? 1 : 0);
    total.cases = (total.cases ?? 0) + next - seed;
    for (const [name, value] of Object.entries(sums)) total[name] = (total[name] ?? 0) + value;
    seed = next;
    const seconds = Math.round((performance.now() - startMs) / 1000);
    if (seed % 20_000 < BATCH || seed >= first + count) print({ first, seconds, ...total });
  }
  process.exitCode = total.differences === 0 ? 0 : 1;
}

/**
 * Runs cases in a child process. Returns the seed to continue with: a process that aborts loses the results of its last
 * cases.
 */
function batch(seed: number, end: number): Promise<{ readonly next: number; readonly sums: Record<string, number> }> {
  const env = { ...process.env, GRPC_VERBOSITY: 'NONE' };
  const stdio = ['ignore', 'inherit', 'ignore', 'ipc'] as const;
  const child = fork(import.meta.filename, [String(seed), String(end - seed)], { env, stdio: [...stdio] });
  let sums: Record<string, number> = {};
  let newest = seed;
  child.on('message', (report: Report) => {
    newest = Math.max(newest, report.seed);
    sums = report.sums;
  });
  return new Promise((resolve) => {
    child.on('exit', () => resolve({ next: newest === end ? end : newest + 1, sums }));
  });
}

async function runBatch(): Promise<void> {
  keepHandles();
  const directory = mkdtempSync(join(tmpdir(), 'lean-'));
  const all = Array.from({ length: PARALLEL }, (_, i) => new Differential(join(directory, `${i}.sock`)));
  let differences = 0;
  const sums = (): Record<string, number> => {
    const result: Record<string, number> = { differences };
    for (const { counts, outcomes } of all) {
      for (const [name, value] of [...Object.entries(counts), ...outcomes]) result[name] = (result[name] ?? 0) + value;
    }
    return result;
  };
  let next = first;
  await Promise.all(
    all.map(async (differential) => {
      await differential.start();
      while (next < first + count) {
        const seed = next++;
        process.send?.({ seed, sums: sums() });
        const difference = await differential.run(seed);
        if (difference === undefined) continue;
        differences++;
        print(difference);
      }
      differential.close();
    }),
  );
  rmSync(directory, { recursive: true });
  // The process is killed, because a regular exit would abort too.
  process.send?.({ seed: first + count, sums: sums() }, () => process.kill(process.pid, 'SIGKILL'));
}

/**
 * Keeps the native part of each HTTP/2 session of grpc-js from being garbage collected. The collection would abort the
 * process.
 */
function keepHandles(): void {
  const handles: unknown[] = [];
  const { connect } = http2;
  http2.connect = (...given: unknown[]) => {
    const session = Reflect.apply(connect, http2, given) as http2.ClientHttp2Session;
    session.prependOnceListener('connect', () => {
      const kHandle = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'kHandle');
      if (kHandle !== undefined) handles.push(Reflect.get(session, kHandle));
    });
    return session;
  };
}

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
