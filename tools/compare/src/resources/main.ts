import { writeFile } from 'node:fs/promises';
import { readMachineTopology } from '@node-agent/cm-resources';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { inDirectoryOfItsOwn, runCommand } from '@node-agent/tools-bench';
import { findOwnGoProgram } from '@node-agent/tools-control-plane';
import { admissionTimes, LARGE, timesReport } from './admission-times.ts';
import { compareSequence, type Machine } from './compare-sequence.ts';
import { drawSequence } from './draw.ts';
import { HELP, parseResourceOptions } from './options.ts';
import { digestsOf } from './recording.ts';
import { ResourceReport } from './report.ts';
import { sysFiles, type TopologyShape, topologies } from './topologies.ts';
import { machineInfo, Upstream } from './upstream.ts';

/** Writes progress to the standard error stream. The standard output contains only the result. */
function say(text: string): void {
  process.stderr.write(`compare-resources: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const { help, sequences, seed, time, record } = parseResourceOptions(argv);
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  const source = new URL('upstream/', import.meta.url);
  const found = await findOwnGoProgram({ name: 'upstream-resources', source }, say);
  if ('reason' in found) throw new Error(found.reason);
  const { program } = found.binaries;
  return await inDirectoryOfItsOwn('na-resources-', async (directory) => {
    if (time) {
      await using upstream = new Upstream(program, directory);
      const times = await admissionTimes(await machineOf(program, LARGE), upstream, directory);
      process.stdout.write(timesReport(times));
      return 0;
    }
    const machines = new Map<string, Machine>();
    for (const shape of topologies) machines.set(shape.name, await machineOf(program, shape));
    const report = new ResourceReport();
    const recording: Record<string, string> = {};
    await using upstream = new Upstream(program, directory);
    for (let index = 0; index < sequences; index++) {
      const sequence = drawSequence(seed + index);
      const machine = machines.get(sequence.topology);
      if (machine === undefined) throw new Error(`no machine has the topology ${sequence.topology}`);
      const result = await compareSequence(upstream, machine, sequence);
      report.add(seed + index, sequence, result);
      if (record !== undefined) recording[seed + index] = digestsOf(result);
    }
    if (record !== undefined) await writeFile(record, `${JSON.stringify(recording, null, 2)}\n`);
    process.stdout.write(report.text());
    return report.faults === 0 ? 0 : 1;
  });
}

/** Lets both sides read the machine from the same files. */
async function machineOf(program: string, shape: TopologyShape): Promise<Machine> {
  const fs = new MemoryFileSystem();
  for (const [path, text] of sysFiles(shape)) {
    await fs.mkdir(`/${path.slice(0, path.lastIndexOf('/'))}`);
    await fs.writeFile(`/${path}`, text);
  }
  return { upstream: await machineInfo(program, shape), ours: await readMachineTopology(fs) };
}

runCommand(main, say);
