import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** The settings of every package's tests: the sources of the packages, not their builds, are what is tested. */
const shared: ViteUserConfig = defineConfig({
  resolve: {
    conditions: ['@node-agent/source'],
    alias: { 'fast-check': fileURLToPath(new URL('./tools/test/fast-check.mjs', import.meta.url)) },
  },
  ssr: {
    resolve: {
      conditions: ['@node-agent/source', 'node', 'import', 'default'],
      externalConditions: ['@node-agent/source', 'node', 'import', 'default'],
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: '.reports/vitest.json' },
    testTimeout: 20_000,
    // Many tests start programs from their sources. With Node's compile cache, a start needs 40 % less CPU time.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('./node_modules/.cache/node-compile', import.meta.url)) },
    // The files of a package share their workers: with a worker for each file, two thirds of the time go into imports. A
    // test that changes global state must undo it.
    isolate: false,
    // The default, one second, is too short on a machine that is busy with other work.
    expect: { poll: { timeout: 10_000 } },
  },
});
export default shared;
