import type { RunPodResult } from './node/run-once.ts';

/** Operations of a kubelet for the program that embeds it (`Bootstrap` in `pkg/kubelet/kubelet.go`). */
export interface Bootstrap<C = unknown> {
  /** Returns the program's configuration. */
  getConfiguration(): C;
  /** Records an event about the node that the kubelet starts. */
  birthCry(): void;
  /** Runs the garbage collection of dead containers and unused images until `signal` is aborted. */
  startGarbageCollection(signal: AbortSignal): Promise<void>;
  /** Runs the kubelet until `signal` is aborted and everything it started has stopped. Pods keep running. */
  run(signal: AbortSignal): Promise<void>;
  /** Starts the pods that the sources have now, once, and returns the result for each pod. */
  runOnce(signal: AbortSignal): Promise<readonly RunPodResult[]>;
  /**
   * Serves the main (authenticated) port until `signal` is aborted.
   * @throws KubeletError `NoServer` if the kubelet has no such server
   */
  listenAndServe(signal: AbortSignal): Promise<void>;
  /** Serves `/healthz` on its own port; otherwise like {@link listenAndServe}. */
  listenAndServeHealthz(signal: AbortSignal): Promise<void>;
  /** Serves the read-only port; otherwise like {@link listenAndServe}. */
  listenAndServeReadOnly(signal: AbortSignal): Promise<void>;
  /** Serves the admin socket; otherwise like {@link listenAndServe}. Upstream has no admin socket. */
  listenAndServeAdmin(signal: AbortSignal): Promise<void>;
  /** Serves the pod resources socket; otherwise like {@link listenAndServe}. */
  listenAndServePodResources(signal: AbortSignal): Promise<void>;
}
