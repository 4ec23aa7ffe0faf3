/** One record of the kernel log (`Documentation/ABI/testing/dev-kmsg`). */
export interface KmsgRecord {
  readonly sequence: number;
  /** Since the machine was booted. */
  readonly uptimeMs: number;
  /** Whether the kernel wrote it: whoever may write to `/dev/kmsg` can write anything else. */
  readonly isKernel: boolean;
  readonly message: string;
}

const HEAD = /^(\d{1,9}),(\d{1,16}),(\d{1,16})[^;\n]*;(.*)/;

/** Reads `6,1234,5678901,-;message`, with what follows on lines of their own left out. `undefined` where it is none. */
export function parseKmsgRecord(text: string): KmsgRecord | undefined {
  const [, priority, sequence, uptimeUs, message] = HEAD.exec(text) ?? [];
  if (message === undefined) return undefined;
  return {
    sequence: Number(sequence),
    uptimeMs: Number(uptimeUs) / 1000,
    isKernel: Number(priority) < 8,
    message,
  };
}
