import { fileURLToPath } from 'node:url';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Paths of this package's programs, which are TypeScript modules. */
export const PROGRAM_FILES: Readonly<Record<'driver' | 'registrar' | 'liveness-probe', string>> = {
  driver: pathOf('main.ts'),
  registrar: pathOf('registrar/main.ts'),
  'liveness-probe': pathOf('liveness-probe/main.ts'),
};
