/** File in an ar archive. */
export interface ArEntry {
  /** Name of at most 16 characters. */
  readonly name: string;
  readonly data: Uint8Array;
}

/**
 * Returns an ar archive as in ar(5) and deb(5).
 * @param seconds time of all files, since 1970
 */
export function ar(entries: readonly ArEntry[], seconds: number): Buffer {
  const parts = entries.flatMap(({ name, data }) => {
    if (name.length > 16) throw new RangeError(`write ar archive: ${name} is too long`);
    const fields = [name.padEnd(16), String(seconds).padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)];
    const header = Buffer.from(`${fields.join('')}${String(data.length).padEnd(10)}\`\n`, 'latin1');
    return [header, data, Buffer.alloc(data.length % 2, '\n')];
  });
  return Buffer.concat([Buffer.from('!<arch>\n', 'latin1'), ...parts]);
}
