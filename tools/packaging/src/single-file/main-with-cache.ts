// The main script of the executable file that makes the code cache: at its end it writes a cache of what was compiled.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { scripts } from './load-part.ts';
import { start } from './start.ts';

process.on('exit', () => {
  // The cache is valid only for the flags that are set now, and the kubelet runs without a fixed seed.
  setFlagsFromString('--hash-seed=0');
  const directory = process.env.NODE_AGENT_CODE_CACHE ?? '.';
  for (const [name, script] of scripts) writeFileSync(join(directory, `${name}.cache`), script.createCachedData());
});
start();
