import { decodeConfiguration, type Layer } from './decode.ts';
import { parseDocument } from './document/parse-document.ts';
import { type ConfigReader, readError } from './drop-ins.ts';
import { ConfigError } from './error.ts';

/**
 * Reads one configuration file.
 *
 * @throws ConfigError `read`, `syntax` or `decode`
 */
export async function loadFile(
  path: string,
  source: 'file' | 'dropIn',
  fs: Pick<ConfigReader, 'readFile'>,
): Promise<Layer> {
  let bytes: Uint8Array;
  try {
    bytes = await fs.readFile(path);
  } catch (cause) {
    throw readError(path, cause);
  }
  const parsed = parseDocument(bytes);
  if (parsed.problems !== undefined) {
    const issues = parsed.problems.map(({ message, at }) => ({
      path: '',
      message,
      origin: { source, file: path, ...at },
    }));
    throw new ConfigError('syntax', issues);
  }
  const layer = decodeConfiguration(parsed.root, path, source);
  if (layer.issues.length > 0) throw new ConfigError('decode', layer.issues);
  return layer;
}
