import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type TarEntry, tar } from '@node-agent/tools-containerd';
import type { Sidecars } from '../sidecars.ts';
import { CSI_RECIPES, type CsiLayerName, csiLayer, HOST_PATH_DRIVER, isCsiLayer } from './csi.ts';
import { hostPrograms, type LayerContent, withDirectories } from './host-programs.ts';
import { type Blob, blob, type Image, type ImageConfig, image, parseReference } from './oci.ts';

/** Inputs of the images: programs, and the sources of the Kubernetes release for additional files. */
export interface Ingredients {
  readonly programs: Readonly<Record<'agnhost' | 'busybox' | 'pause' | 'nonewprivs' | 'sampledeviceplugin', string>>;
  /** Directory with the sources of the Kubernetes release's Go module. */
  readonly sources: string;
  readonly architecture: string;
  /** Sidecars of CSI drivers. Without them, no images of CSI drivers are built. */
  readonly sidecars?: Sidecars | undefined;
  /** Whether the image of the host path driver is built without sidecars, too. */
  readonly proxy?: boolean;
}

/** Recipe of a substitute image: names of its layers and the configuration of its containers. */
interface Recipe {
  readonly layers: readonly LayerName[];
  readonly config: ImageConfig;
}

type LayerName =
  | 'busybox'
  | 'tools'
  | 'agnhost'
  | 'pause'
  | 'nonewprivs'
  | 'sampledeviceplugin'
  | 'nginx'
  | 'kitten'
  | CsiLayerName;

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Programs that specs call in the agnhost image. The upstream Dockerfile installs them; `nc` is the OpenBSD variant.
 */
const TOOLS = [
  'usr/bin/curl',
  'bin/bash',
  'usr/bin/ss',
  'usr/bin/ipcs',
  'usr/bin/dig',
  'usr/bin/getent',
  'usr/bin/nc.openbsd',
];

/**
 * Images that the suites use, by repository. The upstream Dockerfiles install distribution packages; these images
 * contain busybox and programs of this machine instead.
 */
const RECIPES: Readonly<Record<string, Recipe>> = {
  'registry.k8s.io/e2e-test-images/busybox': busybox({}),
  'registry.k8s.io/e2e-test-images/agnhost': {
    layers: ['busybox', 'tools', 'agnhost'],
    config: {
      Env: [PATH],
      Entrypoint: ['/agnhost'],
      Cmd: ['pause'],
      ExposedPorts: ports('80', '8080', '8081', '9376', '5000'),
    },
  },
  'registry.k8s.io/pause': { layers: ['pause'], config: { Env: [PATH], Entrypoint: ['/pause'], User: '65535:65535' } },
  'registry.k8s.io/e2e-test-images/nonroot': busybox({ User: '1234' }),
  'registry.k8s.io/e2e-test-images/nonewprivs': {
    layers: ['busybox', 'nonewprivs'],
    config: { Env: [PATH], Cmd: ['nnp'] },
  },
  'registry.k8s.io/e2e-test-images/sample-device-plugin': {
    layers: ['busybox', 'sampledeviceplugin'],
    config: { Env: [PATH], Entrypoint: ['/sampledeviceplugin', '-alsologtostderr'] },
  },
  'registry.k8s.io/e2e-test-images/ipc-utils': { layers: ['busybox', 'tools'], config: { Env: [PATH], Cmd: ['sh'] } },
  'registry.k8s.io/e2e-test-images/glibc-dns-testing': {
    layers: ['busybox', 'tools'],
    config: { Env: [PATH], Cmd: ['bash'] },
  },
  'registry.k8s.io/e2e-test-images/nginx': {
    layers: ['busybox', 'nginx'],
    config: { Env: [PATH], Entrypoint: ['/docker-entrypoint.sh'], Cmd: ['nginx'], ExposedPorts: ports('80') },
  },
  // Image for specs of image volumes.
  'registry.k8s.io/e2e-test-images/kitten': {
    layers: ['busybox', 'tools', 'agnhost', 'kitten'],
    config: { Env: [PATH], Entrypoint: ['/agnhost'], Cmd: ['test-webserver'] },
  },
};

function busybox(config: ImageConfig): Recipe {
  return { layers: ['busybox'], config: { Env: [PATH], Cmd: ['sh'], ...config } };
}

function ports(...numbers: readonly string[]): Readonly<Record<string, object>> {
  return Object.fromEntries(numbers.map((number) => [`${number}/tcp`, {}]));
}

/**
 * Builds an image for each reference that has a recipe.
 * @returns the images, the references without a recipe, and the programs that this machine does not have; specs that
 * need those programs fail
 */
export async function makeImages(
  references: readonly string[],
  ingredients: Ingredients,
): Promise<{
  readonly images: readonly Image[];
  readonly unknown: readonly string[];
  readonly missing: readonly string[];
}> {
  const layers = new Map<LayerName, Promise<Blob>>();
  const missing: string[] = [];
  const layer = (name: LayerName): Promise<Blob> => {
    const found = layers.get(name) ?? makeLayer(name, ingredients, missing);
    layers.set(name, found);
    return found;
  };
  const images: Image[] = [];
  const unknown: string[] = [];
  for (const reference of references) {
    const { host, repository } = parseReference(reference);
    const name = `${host}/${repository}`;
    const recipe = RECIPES[name] ?? (needsCsiImage(name, ingredients) ? CSI_RECIPES[name] : undefined);
    if (recipe === undefined) {
      unknown.push(reference);
      continue;
    }
    const parts = await Promise.all(recipe.layers.map(layer));
    images.push(image(reference, parts, recipe.config, ingredients.architecture));
  }
  return { images, unknown, missing };
}

function needsCsiImage(name: string, { sidecars, proxy = false }: Ingredients): boolean {
  return sidecars !== undefined || (proxy && name === HOST_PATH_DRIVER);
}

/** Builds a layer. @param missing list to which the programs that this machine does not have are added */
async function makeLayer(name: LayerName, ingredients: Ingredients, missing: string[]): Promise<Blob> {
  const content = await layerContent(name, ingredients);
  missing.push(...content.missing);
  return blob(tar(withDirectories(content.entries)));
}

async function layerContent(name: LayerName, from: Ingredients): Promise<LayerContent> {
  if (isCsiLayer(name)) return csiLayer(name, from.sidecars);
  return name === 'tools' ? toolsLayer() : { entries: await ENTRIES[name](from), missing: [] };
}

const encoder = new TextEncoder();
const text = (path: string, content: string, mode = 0o644): TarEntry => ({ path, mode, data: encoder.encode(content) });
const file = async (path: string, source: string, mode = 0o755): Promise<TarEntry> => ({
  path,
  mode,
  data: new Uint8Array(await readFile(source)),
});

async function toolsLayer(): Promise<LayerContent> {
  const { entries, missing } = await hostPrograms(TOOLS);
  return { entries: [...entries, { path: 'usr/bin/nc', mode: 0o777, link: 'nc.openbsd' }], missing };
}

const ENTRIES: Readonly<
  Record<Exclude<LayerName, CsiLayerName | 'tools'>, (from: Ingredients) => Promise<readonly TarEntry[]>>
> = {
  busybox: async ({ programs }) => {
    const { stdout } = await promisify(execFile)(programs.busybox, ['--list']);
    const commands = stdout.split('\n').filter((command) => command !== '' && command !== 'busybox');
    return [
      ...['dev', 'etc', 'home', 'proc', 'root', 'sys', 'usr/bin', 'usr/sbin', 'var'].map(
        (path): TarEntry => ({ path, mode: 0o755 }),
      ),
      { path: 'tmp', mode: 0o1777 },
      await file('bin/busybox', programs.busybox),
      ...commands.map((command): TarEntry => ({ path: `bin/${command}`, mode: 0o777, link: 'busybox' })),
      text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n'),
      text('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
    ];
  },
  agnhost: async (from) => [
    await file('agnhost', from.programs.agnhost),
    { path: 'agnhost-2', mode: 0o777, link: 'agnhost' },
    { path: 'uploads', mode: 0o755 },
    await file('localhost.crt', join(from.sources, 'test/images/agnhost/porter/localhost.crt'), 0o644),
    await file('localhost.key', join(from.sources, 'test/images/agnhost/porter/localhost.key'), 0o644),
    // User and group for a spec about groups that are defined in the image.
    text(
      'etc/passwd',
      'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n',
    ),
    text(
      'etc/group',
      'root:x:0:\nnobody:x:65534:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n',
    ),
    ...(await fakeRegistry(from)),
  ],
  pause: async ({ programs }) => [await file('pause', programs.pause)],
  nonewprivs: async ({ programs }) => [await file('usr/local/bin/nnp', programs.nonewprivs, 0o6755)],
  sampledeviceplugin: async ({ programs }) => [await file('sampledeviceplugin', programs.sampledeviceplugin)],
  nginx: async () => [
    text('docker-entrypoint.sh', '#!/bin/sh\nexec busybox httpd -f -p 80 -h /usr/share/nginx/html\n', 0o755),
    text('usr/share/nginx/html/index.html', '<title>Welcome to nginx!</title>\n'),
    { path: 'usr/sbin/nginx', mode: 0o777, link: '/docker-entrypoint.sh' },
  ],
  kitten: async ({ sources }) => [
    await file('data.json', join(sources, 'test/images/kitten/html/data.json'), 0o644),
    await file('kitten.jpg', join(sources, 'test/images/kitten/html/kitten.jpg'), 0o644),
    // Specs check this name to determine the image's distribution.
    text('etc/os-release', 'NAME="a stand-in for Alpine Linux"\n'),
  ],
};

/**
 * Returns the content of agnhost's built-in registry: `pause:testing`, in the layout of
 * `fakeregistryserver/prepare_registry.sh`.
 */
async function fakeRegistry(from: Ingredients): Promise<readonly TarEntry[]> {
  const layer = await makeLayer('pause', from, []);
  const recipe = RECIPES['registry.k8s.io/pause'];
  const pause = image('registry.k8s.io/pause:testing', [layer], recipe?.config ?? {}, from.architecture);
  const at = (kind: string, { digest, data }: Blob): TarEntry => {
    const hash = digest.slice('sha256:'.length);
    return { path: `var/registry/pause/${kind}/sha256/${hash.slice(0, 2)}/${hash}/data`, mode: 0o644, data };
  };
  return [
    text('var/registry/pause/manifests/testing', `${pause.manifest.digest}\n`),
    at('manifests', pause.manifest),
    at('blobs', pause.config),
    at('blobs', layer),
  ];
}
