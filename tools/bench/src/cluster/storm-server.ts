// An API server in memory, over HTTP, that changes one pod's annotation so and so often a second when it is told to. A child
// process of the bench: what it uses is not counted to anybody that is measured.
import { systemClock, systemRandom } from '@node-agent/async';
import { FakeApiServer, FakeApiServerHttp } from '@node-agent/fake-apiserver';

/** What it is told. */
export interface StormOrder {
  readonly namespace: string;
  readonly name: string;
  /** Its value is the change's number, from 1. */
  readonly annotation: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** What it says: where it is, and that it has made its changes. */
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

/** As many as are due by the clock, whatever a tick took. @returns how many */
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
      if (status !== 200) throw new Error(`the change ${made + 1} of ${path} was answered with ${status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  return made;
}

await main();
