import { textOfBytes } from '../byte-names.ts';

/** The mount points in the text of `/proc/self/mountinfo` (proc(5)), read as Latin 1. */
export function mountPointsOf(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const point = line.split(' ')[4];
    if (point === undefined) return [];
    // The kernel writes blanks and backslashes of paths in octal.
    const bytes = point.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return [textOfBytes(Buffer.from(bytes, 'latin1'))];
  });
}
