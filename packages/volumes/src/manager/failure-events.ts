import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons } from '@node-agent/telemetry';
import type { VolumeError } from '../errors.ts';
import { failedExpandMessage, failedMapMessage, failedMountMessage, mismatchMessage } from './mount-messages.ts';
import { type ResolvedVolume, specName } from './resolved-volume.ts';

/** Sends an event for each failed operation of a pod's volume, with upstream's reasons and messages. */
export class FailureEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Sends an event that a volume cannot be used on this node. */
  refused(pod: Pod, message: string): void {
    this.#recorder.event(podReference(pod), 'Warning', eventReasons.failedMountVolume, message);
  }

  /** Sends an event for a failed operation. */
  failed(pod: Pod, volume: ResolvedVolume, error: VolumeError, step: 'setUp' | 'stage' | 'expand'): void {
    const { persistent } = volume;
    const name = specName(volume);
    if (step === 'expand') {
      const message = failedExpandMessage(name, error);
      this.#recorder.event(podReference(pod), 'Warning', eventReasons.volumeResizeFailed, message);
      return;
    }
    if (error.code === 'FileSystemMismatch') this.#mismatch(volume, error);
    if (persistent?.spec?.volumeMode === 'Block') {
      const message = failedMapMessage(name, error, step);
      this.#recorder.event(podReference(pod), 'Warning', eventReasons.failedMapVolume, message);
    } else this.refused(pod, failedMountMessage(name, error, step));
  }

  /** Sends the event for a wrong file system to the PersistentVolume, because its author must correct it. */
  #mismatch(resolved: ResolvedVolume, error: VolumeError): void {
    if (resolved.persistent === undefined) return;
    const { uid } = resolved.persistent.metadata;
    const name = specName(resolved);
    const volume = { kind: 'PersistentVolume', apiVersion: 'v1', name, ...(uid !== undefined && { uid }) };
    const message = mismatchMessage(name, error);
    this.#recorder.event(volume, 'Warning', eventReasons.failedMountOnFilesystemMismatch, message);
  }
}
