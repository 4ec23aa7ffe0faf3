/** A lock that delays the shutdown of the machine. */
export interface InhibitorLock {
  /** Resolves when the lock is no longer held, because of {@link release} or because its holder has exited. */
  readonly ended: Promise<void>;
  /** Releases the lock. Further calls have no effect. */
  release(): Promise<void>;
}

/** Takes inhibitor locks. */
export interface Inhibitor {
  /** Takes a lock. @throws NodeShutdownError `Inhibit`; the signal's reason */
  acquire(signal: AbortSignal): Promise<InhibitorLock>;
}

/** A connection to logind, usable until it closes. */
export interface LogindSession {
  /**
   * Yields true when a shutdown begins and false when it was cancelled. Only the latest unread value is kept. The
   * iteration ends without an error when the session ends. The iteration supports only one reader.
   */
  readonly shutdowns: AsyncIterable<boolean>;
  /**
   * Returns the maximum shutdown delay that logind allows, in ms. @throws NodeShutdownError `Logind`; the signal's
   * reason
   */
  inhibitDelayMs(signal: AbortSignal): Promise<number>;
  /** Returns whether a shutdown has begun. @throws NodeShutdownError `Logind`; the signal's reason */
  isPreparingForShutdown(signal: AbortSignal): Promise<boolean>;
  /**
   * Makes logind reload its configuration; logind applies it some time later. @throws NodeShutdownError `Logind`; the
   * signal's reason
   */
  reloadConfiguration(signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Port to the service that announces, and can delay, the machine's shutdown (systemd-logind(8),
 * org.freedesktop.login1(5)).
 */
export interface Logind {
  /**
   * Connects to logind. From then on, the session receives logind's signals. @throws NodeShutdownError `Logind`; the
   * signal's reason
   */
  connect(signal: AbortSignal): Promise<LogindSession>;
}
