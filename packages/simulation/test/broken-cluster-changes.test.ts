import type { Pod } from '@node-agent/pod-spec';
import type { ApiRequester, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changedFiles, healthy, quietNode, seenBroken, steps } from './mutants.ts';

const cluster: Omit<Scenario, 'actions'> = { ...quietNode, node: { ...quietNode.node, cluster: true } };
const pod: PodPlan = { ...healthy, name: 'a1', uid: 'a1-u' };
const secret = { kind: 'secret', name: 's1' } as const;
const withSecret: PodPlan = { ...pod, objects: [{ ...secret, optional: false }] };

/** A pod of the API and a static pod, followed by the loss of the API server's store. */
const wiped: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: healthy },
    { atMs: 100, do: 'apiCreate', pod },
    { atMs: 20_000, do: 'apiWipe' },
  ],
};

/**
 * A kubelet that starts when a pod has just been deleted, and an API server with a stale cache that still has the pod.
 */
const stale: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod },
    { atMs: 20_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
    { atMs: 29_000, do: 'apiStale', behind: 5, forMs: 5000 },
    { atMs: 30_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 },
  ],
};

/** A pod whose secret is created late and then changes. */
const changing: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod: withSecret },
    { atMs: 10_000, do: 'apiPut', object: secret, version: 1 },
    { atMs: 30_000, do: 'apiPut', object: secret, version: 2 },
  ],
};

/** Changes the kubelet's API requests. */
function requests(change: (inner: ApiRequester) => ApiRequester): () => Decorations {
  return () => ({ api: change });
}

/** Lets only the first request for each matching path take effect. */
function onlyOnce(isMeant: (method: string, path: string) => boolean): () => Decorations {
  const seen = new Set<string>();
  return requests((inner) => (request, signal) => {
    if (!isMeant(request.method, request.path)) return inner(request, signal);
    const again = seen.has(request.path);
    seen.add(request.path);
    return inner(again ? { ...request, path: `${request.path}?dryRun=All` } : request, signal);
  });
}

/** Removes the MODIFIED events from matching watches. */
function deafToChanges(isMeant: (path: string) => boolean): () => Decorations {
  return requests((inner) => async (request, signal) => {
    const response = await inner(request, signal);
    return isMeant(request.path) ? { ...response, body: without('"type":"MODIFIED"', response.body) } : response;
  });
}

async function* without(text: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) if (!Buffer.from(chunk).toString().includes(text)) yield chunk;
}

/** Lets the kubelet list pods only twice: at its start and after the registration of the node. */
function listedOnlyAtTheStart(): Decorations {
  let lists = 0;
  return {
    api: (inner) => (request, signal) => {
      if (!request.path.startsWith('/api/v1/pods?') || lists++ < 2) return inner(request, signal);
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  };
}

function volumesOptional(one: Pod): Pod {
  const volumes = one.spec.volumes?.map((volume) =>
    volume.secret === undefined ? volume : { ...volume, secret: { ...volume.secret, optional: true } },
  );
  return { ...one, spec: { ...one.spec, ...(volumes && { volumes }) } };
}

seenBroken([
  [
    'N6',
    'the kubelet does not register its node again',
    onlyOnce((method, path) => method === 'POST' && path === '/api/v1/nodes'),
    wiped,
  ],
  [
    'F3',
    'the kubelet does not recreate mirror pods',
    onlyOnce((method, path) => method === 'POST' && path.endsWith('/pods')),
    wiped,
  ],
  ['P7', 'the kubelet does not notice that a new cluster has no pods', listedOnlyAtTheStart, wiped],
  [
    'P7',
    'a watch does not start at the version of its list',
    requests((inner) => (request, signal) => {
      const watches = request.path.startsWith('/api/v1/pods?') && request.path.includes('watch=');
      return inner(watches ? { ...request, path: request.path.replace(/resourceVersion=\d+/, '') } : request, signal);
    }),
    stale,
  ],
  [
    'W4',
    'a pod starts without a secret that is missing',
    () => steps((inner) => ({ syncPod: (type, one, ...rest) => inner.syncPod(type, volumesOptional(one), ...rest) })),
    changing,
  ],
  [
    'W4',
    'the kubelet does not notice the change of a secret',
    deafToChanges((path) => path.includes('/secrets?')),
    changing,
  ],
  [
    'W4',
    'only one of two changed files of a volume is updated',
    () => {
      const first = new Map<string, string | Uint8Array>();
      return {
        files: (fs) =>
          changedFiles(fs, {
            writeFile: (path, data, options) => {
              const name = path.replace(/\/\.\.\d[^/]*\//, '/');
              if (!name.endsWith('/b')) return fs.writeFile(path, data, options);
              first.set(name, first.get(name) ?? data);
              return fs.writeFile(path, first.get(name) ?? data, options);
            },
          }),
      };
    },
    changing,
  ],
]);
