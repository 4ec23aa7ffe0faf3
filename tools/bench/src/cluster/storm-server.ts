// API server in memory, over HTTP, that changes one pod's annotation at a given rate on request. The server is a child
// process, so that its CPU time is not counted for the measured processes.
import { systemClock, systemRandom } from '@node-agent/async';
import { FakeApiServer, FakeApiServerHttp } from '@node-agent/fake-apiserver';

/** Request to the server. */
export interface StormOrder {
  readonly namespace: string;
  readonly name: string;
  /** Annotation whose value is the number of the change, starting at 1. */
  readonly annotation: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** Messages that the server sends: its URL when it listens, and the number of changes when all are made. */
export type StormNews = { readonly url: string } | { readonly made: number };

const TICK_MS = 1;

async function main(): Promise<void> {
  const api = new FakeApiServer({ clock: systemClock, random: systemRandom });
  const server = new FakeApiServerHttp({ api });
  await server.start();
  process.on('message', (order: StormOrder) => {
    void changes(api, order).then((made) => tell({ made }));
  });
  process.on('disconnect', () => void server.close());
  tell({ url: server.url });
}

function tell(news: StormNews): void {
  process.send?.(news);
}

/** Makes as many changes as are due by the clock, even if a tick is late. @returns their number */
async function changes(api: FakeApiServer, order: StormOrder): Promise<number> {
  const { namespace, name, annotation, perSecond, seconds } = order;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const headers = { 'content-type': 'application/merge-patch+json' };
  const total = perSecond * seconds;
  const startMs = performance.now();
  let made = 0;
  while (made < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startMs) / 1000) * perSecond));
    for (; made < due; made++) {
      const body = JSON.stringify({ metadata: { annotations: { [annotation]: `${made + 1}` } } });
      const { status } = await api.request({ method: 'PATCH', path, headers, body });
      if (status !== 200) throw new Error(`patch ${path}: status ${status} for change ${made + 1}`);
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  return made;
}

await main();
