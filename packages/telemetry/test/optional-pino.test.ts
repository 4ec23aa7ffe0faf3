import { describe, expect, it } from 'vitest';
import { createLogger } from '../src/index.ts';

const missing = Object.assign(new Error("Cannot find package 'pino'"), { code: 'ERR_MODULE_NOT_FOUND' });

describe('a JSON logger without pino', () => {
  it('a JSON logger without pino writes text, and its first line reports that pino is not installed', async () => {
    const lines: string[] = [];
    const logger = await createLogger({
      format: 'json',
      write: (line) => void lines.push(line),
      importPino: () => Promise.reject(missing),
    });
    logger.info({ podUid: 'u1' }, 'Pod changed');
    expect(lines).toEqual([
      expect.stringMatching(/^E.*pino is not installed \(npm install pino\)" format="json"\n$/),
      expect.stringMatching(/^I.*"Pod changed" podUid="u1"\n$/),
    ]);
  });

  it('createLogger fails if the import of pino fails with another error', async () => {
    const broken = createLogger({ format: 'json', importPino: () => Promise.reject(new Error('broken')) });
    await expect(broken).rejects.toThrow('broken');
  });
});
