// Implements `npm start`, `npm test` and the other npm scripts: installs the tools, builds what changed, and runs the
// program.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runChild } from './child.mjs';
import { installMissing, NODE_PACKAGES, SUITE_PACKAGES } from './system-packages.mjs';
import { prepare, root, run, say } from './toolchain.mjs';

const [command, ...args] = process.argv.slice(2);

/**
 * Commands: the packages to build and the system packages to install first, the program to run, and its fixed
 * arguments.
 */
const commands = {
  start: args.includes('--cluster')
    ? // `npm start -- --cluster down` does not run the kubelet, so it is not built.
      { build: args.includes('down') ? [] : ['@node-agent/kubelet'], program: 'apps/cluster/src/main.ts' }
    : { build: ['@node-agent/kubelet'], program: 'tools/standalone/src/main.ts' },
  test: { build: [], program: 'tools/test/main.mjs' },
  'control-plane': { build: [], program: 'tools/control-plane/src/main.ts' },
  attack: { build: [], generate: true, program: 'tools/attack/src/main.ts' },
  simulate: { build: [], generate: true, program: 'packages/simulation/src/cli.ts' },
  'bench-cluster': {
    build: ['@node-agent/kubelet', '@node-agent/fake-cri'],
    program: 'tools/bench/src/cluster/main.ts',
  },
  // The sources of the CSI driver are generated; they are not built.
  'bench-claims': { build: ['@node-agent/kubelet'], generate: true, program: 'tools/bench/src/claims/main.ts' },
  hollow: { build: [], generate: true, program: 'apps/hollow-node/src/main.ts' },
  'bench-hollow': { build: ['@node-agent/hollow-node'], program: 'tools/bench/src/hollow/main.ts' },
  'bench-hostile': { build: ['@node-agent/kubelet'], program: 'tools/bench/src/hostile/main.ts' },
  'bench-server': { build: ['@node-agent/kubelet'], program: 'tools/bench/src/server/main.ts' },
  'bench-probes': { build: ['@node-agent/kubelet'], program: 'tools/bench/src/probes/main.ts' },
  'bench-scale': {
    build: ['@node-agent/kubelet', '@node-agent/fake-cri', '@node-agent/fake-apiserver'],
    program: 'tools/bench/src/scale/main.ts',
  },
  monitoring: {
    // Hollow nodes run from their sources.
    ...(args.includes('--hollow') ? { build: [], generate: true } : { build: ['@node-agent/kubelet'] }),
    program: 'tools/bench/src/monitoring/main.ts',
  },
  'bench-pressure': { build: ['@node-agent/kubelet'], program: 'tools/bench/src/pressure/main.ts' },
  'test-v2': { build: [], generate: true, program: 'tools/vm/src/main.ts' },
  compare: { build: ['@node-agent/kubelet'], generate: true, program: 'tools/compare/src/main.ts' },
  'compare-groups': { build: ['@node-agent/kubelet'], program: 'tools/compare/src/groups/main.ts' },
  'compare-resources': { build: [], generate: true, program: 'tools/compare/src/resources/main.ts' },
  conformance: {
    build: ['@node-agent/kubelet'],
    generate: true,
    packages: [...NODE_PACKAGES, ...SUITE_PACKAGES],
    program: 'tools/conformance/src/main.ts',
  },
  mutation: { build: [], generate: true, program: 'tools/mutation/src/main.ts' },
  prose: { build: [], program: 'tools/prose/src/main.ts' },
  bench: { build: ['@node-agent/kubelet'], program: 'tools/bench/src/main.ts' },
  release: { build: 'all', program: 'tools/packaging/src/release/main.ts' },
  build: { build: 'all' },
  api: { build: 'all', program: 'tools/packaging/src/api/main.ts', args: ['--write'] },
  docs: { build: [], generate: true, program: 'tools/packaging/src/docs/main.ts' },
  pack: { build: 'all', program: 'tools/packaging/src/pack/main.ts' },
  package: { build: [], generate: true, program: 'tools/packaging/src/package/main.ts' },
  shell: { build: [], shell: true },
};

/** Commands that do not support `--help`. */
const WITHOUT_HELP = ['test', 'release', 'build', 'api', 'docs', 'pack', 'shell'];

const chosen = commands[command];
if (!chosen) {
  say(`unknown command ${JSON.stringify(command)}; known commands: ${Object.keys(commands).join(', ')}`);
  process.exit(2);
}

const env = prepare();
const program = chosen.program && [
  ...flagsOf(path.join(root, chosen.program)),
  '--conditions=@node-agent/source',
  '--disable-warning=ExperimentalWarning',
  path.join(root, chosen.program),
  ...(chosen.args ?? []),
  ...args,
];

// `--help` is tried without a build. In a fresh checkout the attempt fails, because generated sources are missing, and
// the build below runs.
if (!WITHOUT_HELP.includes(command) && args.some((word) => word === '--help' || word === '-h')) {
  const told = spawnSync('node', program, { env, encoding: 'utf8' });
  if (told.status === 0) {
    process.stdout.write(told.stdout);
    process.exit(0);
  }
}

if (chosen.packages) {
  // If packages are missing, the program still starts and reports what it cannot run.
  const { output } = installMissing(chosen.packages, say);
  if (output !== undefined) say(output);
}

/** Returns the Node flags in a program's first line, `#!/usr/bin/env -S node --flag`. */
function flagsOf(file) {
  const [, flags = ''] = /^#!\S+ -S node +([^\n]*)/.exec(readFileSync(file, 'utf8')) ?? [];
  return flags.split(' ').filter((flag) => flag !== '');
}

const nx = (...nxArgs) => run(env, 'nx', [...nxArgs, '--output-style=static', '--parallel=2']);

if (chosen.build === 'all' || chosen.build.length > 0) {
  say(`building what changed: ${chosen.build === 'all' ? 'every package' : chosen.build.join(', ')}`);
  const projects = chosen.build === 'all' ? [] : ['--projects', chosen.build.join(',')];
  const status = run(env, 'nx', ['run-many', '-t', 'build', ...projects, '--output-style=static', '--parallel=2'], {
    stdio: ['ignore', command === 'build' ? 'inherit' : 'ignore', 'inherit'],
  });
  if (status !== 0) {
    if (command !== 'build') nx('run-many', '-t', 'build', ...projects);
    process.exit(status);
  }
}
if (
  chosen.generate &&
  run(env, 'nx', ['run-many', '-t', 'generate', '--output-style=static'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  }) !== 0
) {
  process.exit(1);
}

if (chosen.shell) process.exit(run(env, env.SHELL ?? 'sh', args));
if (!program) process.exit(0);

process.exit(await runChild('node', program, env, { passesInterrupt: command === 'start' || command === 'hollow' }));
