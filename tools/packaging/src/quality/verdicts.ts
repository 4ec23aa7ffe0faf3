import { type CheckResult, checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core';
import { filterProblems } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** Module resolutions of programs that only import ES modules, as in attw's profile `esm-only`. */
const RESOLUTIONS = ['node16-esm', 'bundler'] as const;

/** Returns publint's messages about a tarball, including suggestions. */
export async function publintFaults(tarball: Uint8Array<ArrayBuffer>): Promise<readonly string[]> {
  const { buffer, byteOffset, byteLength } = tarball;
  const { messages, pkg } = await publint({ pack: { tarball: buffer.slice(byteOffset, byteOffset + byteLength) } });
  return messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);
}

/** Returns arethetypeswrong's problems of a tarball for importers of ES modules. */
export async function attwFaults(tarball: Uint8Array, hasEntries: boolean): Promise<readonly string[]> {
  return typeFaults(await checkPackage(createPackageFromTarballData(tarball)), hasEntries);
}

/** Returns the problems of an analysis that concern ES modules. A package with exports must have types. */
function typeFaults(analysis: CheckResult, hasEntries: boolean): readonly string[] {
  if (analysis.types === false) return hasEntries ? ['attw: package has exports but no types'] : [];
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
