// Substitute for `systemd-run` and `systemctl`, with which suites start, kill and restart a kubelet. Units are files in
// a directory, and processes. The first two arguments are the directory and the mode (`run` or `control`).
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { matches, parseControl, parseRun, type UnitRequest } from './command-line.ts';

interface Unit extends UnitRequest {
  readonly pid: number;
}

const STOP_MS = 20_000;
const [, , directory = '', as = '', ...argv] = process.argv;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie process still exists, but has exited.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function start(request: UnitRequest): void {
  const log = openSync(request.log ?? '/dev/null', 'a');
  const [file = '', ...args] = request.command;
  const child = spawn(file, args, { stdio: ['ignore', log, log], detached: true, cwd: '/' });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`start ${file}: cannot be executed`);
  child.unref();
  const unit: Unit = { ...request, pid: child.pid };
  writeFileSync(join(directory, `${request.unit}.json`), JSON.stringify(unit));
}

async function stop({ pid }: Unit): Promise<void> {
  if (isRunning(pid)) process.kill(pid, 'SIGTERM');
  const end = Date.now() + STOP_MS;
  while (isRunning(pid)) {
    if (Date.now() > end) process.kill(pid, 'SIGKILL');
    await delay(50);
  }
}

function units(): readonly Unit[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return files.map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as Unit);
}

async function control(): Promise<void> {
  const { verb, names, runningOnly, signal } = parseControl(argv);
  const chosen = units().filter(({ unit }) => names.some((name) => matches(unit, name)));
  if (chosen.length === 0 && verb !== 'list-units') throw new Error(`systemctl ${verb}: no unit ${names.join(' ')}`);
  for (const unit of chosen) {
    switch (verb) {
      case 'list-units':
        if (isRunning(unit.pid)) process.stdout.write(`${unit.unit} loaded active running\n`);
        else if (!runningOnly) process.stdout.write(`${unit.unit} loaded active exited\n`);
        break;
      case 'kill':
        if (isRunning(unit.pid)) process.kill(unit.pid, signal);
        break;
      case 'stop':
        await stop(unit);
        break;
      case 'start':
        if (!isRunning(unit.pid)) start(unit);
        break;
      case 'restart':
        await stop(unit);
        start(unit);
        break;
      case 'reset-failed':
        break;
      default:
        throw new Error(`systemctl: unsupported verb ${verb}`);
    }
  }
}

if (argv.includes('--version')) process.stdout.write('systemd 252 (252)\n');
else if (as === 'run') start(parseRun(argv));
else await control();
