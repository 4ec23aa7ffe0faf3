import { expect, test } from 'vitest';
import { forgetModules } from '../src/forget-modules.ts';

test('resets the modules of a directory and their importers, but no others', () => {
  const module = (file: string, ...importers: string[]) => ({
    file,
    importers: new Set(importers),
    evaluated: true,
    promise: Promise.resolve() as unknown,
    exports: {} as unknown,
  });
  const modules = new Map(
    [
      module('/repo/a/src/rule.ts', '/repo/a/test/rule.test.ts', '/repo/b/uses-a.ts'),
      module('/repo/a/test/rule.test.ts'),
      module('/repo/b/uses-a.ts', '/repo/b/index.ts'),
      module('/repo/b/index.ts', '/repo/b/uses-a.ts', '/repo/a/test/rule.test.ts'),
      module('/repo/b/alone.ts', '/repo/b/index.ts'),
      module('/repo/ab/other.ts'),
    ].map((one) => [one.file, one]),
  );
  forgetModules({ idToModuleMap: modules }, '/repo/a');
  const known = [...modules.values()].filter(({ evaluated }) => evaluated);
  expect(known.map(({ file }) => file)).toEqual(['/repo/b/alone.ts', '/repo/ab/other.ts']);
  expect(modules.get('/repo/b/index.ts')).toMatchObject({ promise: undefined, exports: undefined });
});
