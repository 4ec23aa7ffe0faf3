import { request } from 'node:https';
import type { Pod } from '@node-agent/pod-spec';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { isReady } from './test-cluster.ts';

/** State of a pod at one instant. */
interface Sight {
  readonly type: string;
  readonly pod: string;
  readonly ready: boolean;
}

/** Records the changes of pods that a watch of the API server reports. */
export class PodRecorder {
  readonly sights: Sight[] = [];
  readonly #stop: () => void;

  private constructor(stop: () => void) {
    this.#stop = stop;
  }

  /** Starts a watch of the pods with the labels. The watch reports the existing pods first. */
  static async start(plane: ControlPlane, labelSelector: string): Promise<PodRecorder> {
    const query = new URLSearchParams({ watch: 'true', labelSelector });
    const outgoing = request(`${plane.url}/api/v1/namespaces/default/pods?${query}`, { ...plane.admin, agent: false });
    const recorder = new PodRecorder(() => outgoing.destroy());
    await new Promise<void>((resolve, reject) => {
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        let rest = '';
        incoming.setEncoding('utf8');
        // The connection ends when the recorder stops, or when the test kills the API server.
        incoming.on('error', () => {});
        incoming.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) recorder.#take(JSON.parse(line) as { type: string; object: Pod });
        });
        resolve();
      });
      outgoing.end();
    });
    return recorder;
  }

  stop(): void {
    this.#stop();
  }

  #take({ type, object }: { readonly type: string; readonly object: Pod }): void {
    this.sights.push({ type, pod: object.metadata.name, ready: isReady(object) });
  }
}
