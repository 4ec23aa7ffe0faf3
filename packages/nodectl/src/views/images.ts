import { renderTable } from '../table.ts';
import { bytes } from '../units.ts';

/** An image as `/debug/images` shows it. */
export interface ListedImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/** Hexadecimal digits of a shown image ID. */
const ID_DIGITS = 12;

/** Renders images: one row per tag, or one row for an image without tags. */
export function imagesTable(images: readonly ListedImage[]): string {
  const rows = images.flatMap(({ id, repoTags, repoDigests, sizeBytes, pinned }) => {
    const names = repoTags.length > 0 ? repoTags : [repoDigests[0] ?? '<none>'];
    return names.map((name) => [name, shortId(id), bytes(sizeBytes), pinned ? 'yes' : 'no']);
  });
  return renderTable(['IMAGE', 'ID', 'SIZE', 'PINNED'], rows);
}

function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, ID_DIGITS);
}
