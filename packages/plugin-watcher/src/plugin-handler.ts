/** Handler of plugins of one type (`PluginHandler`, `pkg/kubelet/pluginmanager/cache`). */
export interface PluginHandler {
  /** Validates a plugin. @returns why the plugin cannot be used; `undefined` if it can */
  validate(name: string, endpoint: string, versions: readonly string[]): string | undefined;
  /**
   * Registers a plugin. Until the promise settles, no other socket at the same path is handled, so implementations must
   * observe the signal, which is aborted when the socket is gone.
   * @throws if the plugin cannot be used; the plugin gets the error, and registration is retried later
   */
  register(name: string, endpoint: string, versions: readonly string[], signal: AbortSignal): Promise<void>;
  /** Deregisters a plugin whose socket is gone or was replaced. */
  deregister(name: string, endpoint: string): void;
}
