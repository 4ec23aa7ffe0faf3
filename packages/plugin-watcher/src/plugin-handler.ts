/** Who uses plugins of one type (`PluginHandler`, `pkg/kubelet/pluginmanager/cache`). */
export interface PluginHandler {
  /** @returns why it cannot be used; `undefined` where it can */
  validate(name: string, endpoint: string, versions: readonly string[]): string | undefined;
  /**
   * Until this has settled no other socket of its path is asked: heed the signal, which is aborted when the socket is gone.
   * @throws where it cannot be used: it is told, and asked again later
   */
  register(name: string, endpoint: string, versions: readonly string[], signal: AbortSignal): Promise<void>;
  /** Its socket is gone, or another is in its place. */
  deregister(name: string, endpoint: string): void;
}
