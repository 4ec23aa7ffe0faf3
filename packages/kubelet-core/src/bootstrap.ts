import type { RunPodResult } from './node/run-once.ts';

/** What a program that embeds a kubelet starts and asks (`Bootstrap` in `pkg/kubelet/kubelet.go`). */
export interface Bootstrap<C = unknown> {
  /** What the program was configured with. */
  getConfiguration(): C;
  /** Tells the world, by an event about the node, that a kubelet starts. */
  birthCry(): void;
  /** Runs the collections of dead containers and of unused images until `signal` is aborted. */
  startGarbageCollection(signal: AbortSignal): Promise<void>;
  /** Runs the kubelet until `signal` is aborted and all that it started has ended. Pods go on running. */
  run(signal: AbortSignal): Promise<void>;
  /** Brings the pods that the sources have now to run, once, and says how it went with each. */
  runOnce(signal: AbortSignal): Promise<readonly RunPodResult[]>;
  /** Serves the secured port until `signal` is aborted. @throws where this kubelet was given no such server */
  listenAndServe(signal: AbortSignal): Promise<void>;
  /** As {@link listenAndServe}, for `/healthz`. */
  listenAndServeHealthz(signal: AbortSignal): Promise<void>;
  /** As {@link listenAndServe}, for the read-only port. */
  listenAndServeReadOnly(signal: AbortSignal): Promise<void>;
  /** As {@link listenAndServe}, for the pod resources socket. */
  listenAndServePodResources(signal: AbortSignal): Promise<void>;
}
