import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient, CriError } from '@node-agent/cri-client';
import { buildImage, importImage, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { endPods } from '../end-pods.ts';
import type { Places } from '../places.ts';
import type { SampleImage } from '../sample.ts';
import { isOwn } from './guard.ts';
import { GuardServer } from './guard-server.ts';
import type { NodeRuntime, Say } from './node-runtime.ts';

const ANSWER_TIMEOUT_MS = 5_000;
/**
 * Timeout of calls from the guard to the runtime. The kubelet applies its own, shorter timeouts; the guard's timeout
 * only takes effect if the kubelet does not cancel a call.
 */
const GUARD_TIMEOUT_MS = 3_600_000;
/** Image of the sample pods if the sample's own image cannot be imported into the runtime. */
const PULLED_IMAGE: SampleImage = { name: 'docker.io/library/busybox:stable', pullPolicy: 'IfNotPresent' };

/** Uses an existing runtime, which other programs may use too. @throws Error if the runtime does not respond */
export async function useGivenRuntime(
  endpoint: string,
  places: Places,
  { needsImage }: { readonly needsImage: boolean },
  say: Say,
): Promise<NodeRuntime> {
  const run = createHash('sha256').update(places.runDir).digest('hex').slice(0, 16);
  const client = new CriClient({}, { endpoint, timeoutMs: GUARD_TIMEOUT_MS, waitForRuntime: 'never' });
  const guard = new GuardServer({ client }, { run, socket: places.criSocket });
  try {
    const { runtimeName, runtimeVersion } = await answerOf(endpoint);
    say(`${runtimeName} ${runtimeVersion} at ${endpoint}: pods of other programs are not touched`);
    const stale = await endPods(client, ({ labels }) => isOwn(labels, run), AbortSignal.abort());
    if (stale > 0) say(`removed ${stale} pods of an earlier run`);
    const image = needsImage ? await sampleImage(client, endpoint, places, runtimeName, say) : PULLED_IMAGE;
    await guard.start();
    return {
      endpoint: `unix://${places.criSocket}`,
      image,
      lookAround: [],
      async end(hurry, progress) {
        try {
          await guard.close();
          await endPods(client, ({ labels }) => isOwn(labels, run), hurry, progress);
        } finally {
          await client.close();
        }
      },
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function answerOf(endpoint: string): Promise<{ runtimeName: string; runtimeVersion: string }> {
  const client = new CriClient({}, { endpoint, timeoutMs: ANSWER_TIMEOUT_MS });
  try {
    return await client.connect();
  } catch (error) {
    const { details } = CriError.from(error);
    throw new Error(`--runtime ${endpoint}: container runtime does not answer: ${details}`, { cause: error });
  } finally {
    await client.close();
  }
}

async function sampleImage(
  client: CriClient,
  endpoint: string,
  places: Places,
  runtimeName: string,
  say: Say,
): Promise<SampleImage> {
  const wanted: SampleImage = { name: PAUSE_IMAGE, pullPolicy: 'Never' };
  const there = async (): Promise<boolean> => {
    const { image } = await client.imageStatus({ image: { image: wanted.name } });
    return image !== null;
  };
  if (await there()) return wanted;
  const archive = join(places.runDir, 'image.tar');
  try {
    if (runtimeName !== 'containerd') throw new Error(`no tool to import an image into ${runtimeName}`);
    await buildImage({ tag: wanted.name, file: archive });
    await importImage({ ctr: 'ctr', socket: endpoint.slice('unix://'.length), archive });
    for (let tries = 0; tries < 100 && !(await there()); tries++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    say(`imported the image ${wanted.name}; it stays in the runtime`);
    return wanted;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    say(`could not import the image of the sample (${reason}): its pods will pull ${PULLED_IMAGE.name}`);
    return PULLED_IMAGE;
  } finally {
    await rm(archive, { force: true });
  }
}
