import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeArchive } from '../src/images/archive.ts';
import { type Ingredients, makeImages } from '../src/images/contents.ts';
import { librariesIn, withDirectories } from '../src/images/host-programs.ts';
import { blob, image, parseReference } from '../src/images/oci.ts';
import { Registry } from '../src/images/registry.ts';

const BUSYBOX = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1';
const AGNHOST = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';
const layer = blob(new TextEncoder().encode('layer'));

let directory = '';
let from: Ingredients;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'na-images-'));
  const program = async (name: string, text: string): Promise<string> => {
    await writeFile(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return join(directory, name);
  };
  await mkdir(join(directory, 'test/images/agnhost/porter'), { recursive: true });
  for (const name of ['crt', 'key'])
    await writeFile(join(directory, `test/images/agnhost/porter/localhost.${name}`), name);
  from = {
    programs: {
      busybox: await program('busybox', 'echo busybox; echo sh; echo cat'),
      agnhost: await program('agnhost', 'true'),
      pause: await program('pause', 'true'),
      nonewprivs: await program('nonewprivs', 'true'),
      sampledeviceplugin: await program('sampledeviceplugin', 'true'),
    },
    sources: directory,
    architecture: 'amd64',
  };
});
afterAll(() => rm(directory, { recursive: true }));

test('parseReference splits a reference into host, repository and tag, and rejects incomplete ones', () => {
  expect(parseReference('localhost:5000/a/b:1')).toEqual({ host: 'localhost:5000', repository: 'a/b', tag: '1' });
  for (const wrong of ['busybox', 'busybox:1', 'h/r', 'h/r@sha256:0']) {
    expect(() => parseReference(wrong), wrong).toThrow(RangeError);
  }
});

test('two tags of the same content have different image IDs and share their layers', () => {
  const [one, two] = ['h/r:1', 'h/r:2'].map((reference) => image(reference, [layer], { User: '1' }, 'amd64'));
  expect(one?.config.digest).not.toBe(two?.config.digest);
  expect(one?.layers).toEqual(two?.layers);
  const config = JSON.parse(new TextDecoder().decode(one?.config.data));
  expect(config).toMatchObject({ architecture: 'amd64', config: { User: '1' }, rootfs: { diff_ids: [layer.digest] } });
  const manifest = JSON.parse(new TextDecoder().decode(one?.manifest.data));
  expect(manifest.config).toMatchObject({ digest: one?.config.digest, size: one?.config.data.length });
});

test('an archive of two images names both images and contains their shared layer once', async () => {
  const images = ['h/r:1', 'h/r:2'].map((reference) => image(reference, [layer], {}, 'amd64'));
  const file = join(directory, 'images.tar');
  await writeArchive(images, file);
  const read = (name: string): string => execFileSync('tar', ['-xOf', file, name], { encoding: 'utf8' });
  const { manifests } = JSON.parse(read('index.json'));
  expect(manifests).toMatchObject(
    images.map(({ reference, manifest }) => ({
      digest: manifest.digest,
      size: manifest.data.length,
      annotations: { 'io.containerd.image.name': reference },
    })),
  );
  const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n');
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  expect(names.filter((name) => name.startsWith('blobs/sha256/'))).toHaveLength(5);
  expect(read(`blobs/${layer.digest.replace(':', '/')}`)).toBe('layer');
});

test('the registry serves manifests of the requested host by tag and digest, and blobs by digest', () => {
  const one = image(BUSYBOX, [layer], {}, 'amd64');
  const registry = new Registry([one]);
  const at = (path: string) => registry.answer(`/v2/e2e-test-images/busybox/${path}`);
  for (const name of ['1.37.0-1', one.manifest.digest]) {
    expect(at(`manifests/${name}?ns=registry.k8s.io`)).toMatchObject({ status: 200, digest: one.manifest.digest });
    expect(at(`manifests/${name}?ns=docker.io`).status).toBe(404);
    expect(at(`manifests/${name}`).status).toBe(404);
  }
  expect(at('manifests/1.38?ns=registry.k8s.io').status).toBe(404);
  expect(at(`blobs/${one.config.digest}`).data).toEqual(one.config.data);
  expect(at(`blobs/${layer.digest}`).data).toEqual(layer.data);
  expect(at('blobs/sha256:0').status).toBe(404);
  expect(registry.answer('/v2/').status).toBe(200);
});

test('the registry sends sizes and digests over HTTP, and accepts only GET and HEAD', async () => {
  const registry = new Registry([image(BUSYBOX, [layer], {}, 'amd64')]);
  const url = await registry.start();
  try {
    const blobUrl = `${url}/v2/e2e-test-images/busybox/blobs/${layer.digest}`;
    const head = await fetch(blobUrl, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(layer.data.length));
    expect(head.headers.get('docker-content-digest')).toBe(layer.digest);
    expect(await (await fetch(blobUrl)).text()).toBe('layer');
    expect((await fetch(blobUrl, { method: 'PUT', body: 'x' })).status).toBe(405);
  } finally {
    await registry.stop();
  }
});

test('makeImages builds the images with a recipe and returns the unknown references', async () => {
  const other = 'registry.k8s.io/e2e-test-images/other:1';
  const { images, unknown, missing } = await makeImages([BUSYBOX, AGNHOST, other], from);
  // The missing programs depend on the machine. Images without these programs do not search for them.
  for (const path of missing) expect(path).toMatch(/^(usr\/)?bin\//);
  expect((await makeImages([BUSYBOX], from)).missing).toEqual([]);
  expect(unknown).toEqual([other]);
  expect(images.map(({ reference }) => reference)).toEqual([BUSYBOX, AGNHOST]);
  const [busybox, agnhost] = images;
  expect(agnhost?.layers[0]).toBe(busybox?.layers[0]);
  const listing = (data: Uint8Array | undefined): string =>
    execFileSync('tar', ['-tv', '--numeric-owner'], { input: data ?? '', encoding: 'utf8', maxBuffer: 1e8 });
  expect(listing(busybox?.layers[0]?.data)).toMatch(/^l.* bin\/sh -> busybox$/m);
  const files = listing(agnhost?.layers.at(-1)?.data);
  expect(files).toMatch(/^-rwxr-xr-x .* agnhost$/m);
  expect(files).toMatch(/^l.* agnhost-2 -> agnhost$/m);
  expect(files).toMatch(/^-rw-r--r-- .* var\/registry\/pause\/manifests\/testing$/m);
});

test('makeImages builds the host path driver without sidecars if DRA specs use its proxy', async () => {
  const references = ['hostpathplugin:v1.17.1', 'csi-attacher:v4.11.0'].map(
    (name) => `registry.k8s.io/sig-storage/${name}`,
  );
  const { images, unknown } = await makeImages(references, { ...from, proxy: true });
  expect(unknown).toEqual([references[1]]);
  const listing = execFileSync('tar', ['-tv'], { input: images[0]?.layers.at(-1)?.data ?? '', encoding: 'utf8' });
  expect(listing).toMatch(/^-rwxr-xr-x .* hostpathplugin$/m);
});

test('makeImages builds the images of CSI drivers only with sidecars, and bundles the programs of this repository', async () => {
  const names = ['csi-node-driver-registrar:v2.16.0', 'csi-attacher:v4.11.0', 'csi-snapshotter:v8.5.0'];
  const references = names.map((name) => `registry.k8s.io/sig-storage/${name}`);
  expect((await makeImages(references, from)).unknown).toEqual(references);
  const program = from.programs.pause;
  const sidecars = { 'csi-attacher': program, 'csi-provisioner': program, 'csi-resizer': program };
  const { images, unknown } = await makeImages(references, { ...from, sidecars });
  expect(unknown).toEqual([]);
  const [registrar, attacher] = images;
  const listing = (data: Uint8Array | undefined): string =>
    execFileSync('tar', ['-t'], { input: data ?? '', encoding: 'utf8', maxBuffer: 1e8 });
  expect(listing(registrar?.layers[0]?.data)).toMatch(/^node$/m);
  expect(listing(registrar?.layers[1]?.data)).toBe('driver.mjs\nregistrar.mjs\nliveness-probe.mjs\n');
  expect(listing(attacher?.layers[0]?.data)).toBe('csi-attacher\n');
  // The bundle runs without the packages of this repository.
  await writeFile(join(directory, 'bundle.tar'), registrar?.layers[1]?.data ?? '');
  execFileSync('tar', ['-xf', 'bundle.tar'], { cwd: directory });
  const help = execFileSync(process.execPath, ['registrar.mjs', '--help'], { cwd: directory, encoding: 'utf8' });
  expect(help).toMatch(/^Usage: csi-registrar /);
});

test('librariesIn returns the libraries and the loader that ldd lists', () => {
  const ldd = `\tlinux-vdso.so.1 (0x00007ffd)
\tlibcurl.so.4 => /lib/x86_64-linux-gnu/libcurl.so.4 (0x00007f1)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)
`;
  expect(librariesIn(ldd)).toEqual(['/lib/x86_64-linux-gnu/libcurl.so.4', '/lib64/ld-linux-x86-64.so.2']);
  expect(librariesIn('\tnot a dynamic executable\n')).toEqual([]);
});

test('withDirectories inserts each parent directory once, before its content', () => {
  const data = new Uint8Array();
  const entries = withDirectories([
    { path: 'a/b/c', mode: 0o644, data },
    { path: 'a/b/d', mode: 0o644, data },
    { path: 'a/b', mode: 0o700 },
  ]);
  expect(entries.map(({ path }) => path)).toEqual(['a', 'a/b', 'a/b/c', 'a/b/d']);
});
