import { describe, expect, it } from 'vitest';
import { createLogger } from '../src/index.ts';

const missing = Object.assign(new Error("Cannot find package 'pino'"), { code: 'ERR_MODULE_NOT_FOUND' });

describe('a JSON logger without pino', () => {
  it('writes text, and says so in its first line', async () => {
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

  it('fails with any other error of the import', async () => {
    const broken = createLogger({ format: 'json', importPino: () => Promise.reject(new Error('broken')) });
    await expect(broken).rejects.toThrow('broken');
  });
});
