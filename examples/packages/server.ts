// From packages/server/README.md, which explains the program.
import { HealthzServer } from '@node-agent/server';

const controller = new AbortController();
const lastSyncMs = performance.now();
const syncloop = {
  name: 'syncloop',
  check: () => (performance.now() - lastSyncMs > 120_000 ? 'sync Loop took longer than expected' : undefined),
};
const server = new HealthzServer(
  { checks: [syncloop] },
  {
    port: 0,
    onListening: async ({ address, port }) => {
      const response = await fetch(`http://${address}:${port}/healthz?verbose`);
      console.log(response.status, await response.text());
      controller.abort();
    },
  },
);
await server.start(controller.signal);
