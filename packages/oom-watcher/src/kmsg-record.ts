/** A record of the kernel log (`Documentation/ABI/testing/dev-kmsg`). */
export interface KmsgRecord {
  readonly sequence: number;
  /** Time of the record since boot, in milliseconds. */
  readonly uptimeMs: number;
  /** Whether the kernel wrote the record; processes that may write to `/dev/kmsg` can write arbitrary other records. */
  readonly isKernel: boolean;
  readonly message: string;
}

const HEAD = /^(\d{1,9}),(\d{1,16}),(\d{1,16})[^;\n]*;(.*)/;

/**
 * Parses `6,1234,5678901,-;message`; continuation lines are ignored. Returns `undefined` if the text is not a record.
 */
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
