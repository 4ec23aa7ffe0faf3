/** Holds the shutdown of the machine back. */
export interface InhibitorLock {
  /** Resolves when it holds nothing back any more, by {@link release} or because whoever held it is gone. */
  readonly ended: Promise<void>;
  /** Lets the machine go on; twice is as once. */
  release(): Promise<void>;
}

/** Takes inhibitor locks. */
export interface Inhibitor {
  /** @throws NodeShutdownError `Inhibit`; the signal's reason */
  acquire(signal: AbortSignal): Promise<InhibitorLock>;
}

/** One connection to logind. It is of use until it ends. */
export interface LogindSession {
  /**
   * True when a shutdown begins, false when one was cancelled. Of what was said while nobody took it, the last is kept. It ends when
   * the session does, which is no error. For one listener.
   */
  readonly shutdowns: AsyncIterable<boolean>;
  /** For how long logind lets a shutdown be delayed, in ms. @throws NodeShutdownError `Logind`; the signal's reason */
  inhibitDelayMs(signal: AbortSignal): Promise<number>;
  /** Whether a shutdown has begun. @throws NodeShutdownError `Logind`; the signal's reason */
  isPreparingForShutdown(signal: AbortSignal): Promise<boolean>;
  /** Has logind read its configuration again, which it does some time after it was told so. @throws NodeShutdownError `Logind`; the signal's reason */
  reloadConfiguration(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** What tells of the machine's shutdown, and may delay it (systemd-logind(8), org.freedesktop.login1(5)). */
export interface Logind {
  /** Connects, and listens from then on. @throws NodeShutdownError `Logind`; the signal's reason */
  connect(signal: AbortSignal): Promise<LogindSession>;
}
