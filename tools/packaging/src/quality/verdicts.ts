import { type CheckResult, checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core';
import { filterProblems } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** How a program that can only import modules finds an entry: what attw's own profile `esm-only` looks at. */
const RESOLUTIONS = ['node16-esm', 'bundler'] as const;

/** What publint says of a tarball, suggestions too. */
export async function publintFaults(tarball: Uint8Array<ArrayBuffer>): Promise<readonly string[]> {
  const { buffer, byteOffset, byteLength } = tarball;
  const { messages, pkg } = await publint({ pack: { tarball: buffer.slice(byteOffset, byteOffset + byteLength) } });
  return messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);
}

/** What arethetypeswrong says of a tarball, for those who import modules. */
export async function attwFaults(tarball: Uint8Array, hasEntries: boolean): Promise<readonly string[]> {
  return typeFaults(await checkPackage(createPackageFromTarballData(tarball)), hasEntries);
}

/** The faults in an analysis that concern modules; a package that exports something has to bring types. */
function typeFaults(analysis: CheckResult, hasEntries: boolean): readonly string[] {
  if (analysis.types === false) return hasEntries ? ['attw: exports something, and has no types'] : [];
  return Object.keys(analysis.entrypoints).flatMap((entrypoint) =>
    RESOLUTIONS.flatMap((resolutionKind) =>
      filterProblems(analysis, { entrypoint, resolutionKind }).map(
        (problem) => `attw: ${entrypoint} (${resolutionKind}): ${problem.kind}${whereOf(problem)}`,
      ),
    ),
  );
}

function whereOf(problem: Problem): string {
  if ('moduleSpecifier' in problem) return ` of ${problem.moduleSpecifier} in ${problem.fileName}`;
  if ('typesFileName' in problem) return ` in ${problem.typesFileName}`;
  return 'fileName' in problem ? ` in ${problem.fileName}` : '';
}
