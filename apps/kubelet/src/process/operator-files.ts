import { errorCode, type FileSystem, nodeFileSystem, readFileBounded } from '@node-agent/host';

/** Largest size of a file that an operator provides: certificates, credentials and configuration are far smaller. */
const LIMIT_BYTES = 1024 * 1024;

/**
 * The machine's files, to read files that an operator provides. `readFile` never waits, and reads at most 1 MiB of a
 * regular file. A FIFO would block one of the few threads that read files, and then the process could not exit. An
 * endless device would fill the memory. Other errors are those of `nodeFileSystem`.
 */
export const operatorFiles: FileSystem = {
  ...nodeFileSystem,
  async readFile(path) {
    try {
      return await readFileBounded(nodeFileSystem, path, LIMIT_BYTES);
    } catch (cause) {
      const code = errorCode(cause);
      const problem =
        code === 'ENXIO' ? 'is not a regular file' : code === 'EFBIG' ? 'is larger than 1 MiB' : undefined;
      if (problem === undefined) throw cause;
      throw Object.assign(new Error(`${path} ${problem}`, { cause }), { code });
    }
  },
};
