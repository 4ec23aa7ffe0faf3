import { parseImageReference } from '@node-agent/pod-spec';
import { formatMs } from '../duration.ts';
import { type Rule, when } from './rule.ts';

const ages: Rule = ({ imageMaximumGCAgeMs, imageMinimumGCAgeMs }) =>
  when(
    imageMaximumGCAgeMs > 0 && imageMaximumGCAgeMs <= imageMinimumGCAgeMs,
    'imageMaximumGCAge',
    `must be greater than imageMinimumGCAge (${formatMs(imageMinimumGCAgeMs)})`,
  );

const thresholds: Rule = ({ imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high }) =>
  when(low >= high, 'imageGCLowThresholdPercent', `(${low}) must be less than imageGCHighThresholdPercent (${high})`);

const parallelPulls: Rule = ({ serializeImagePulls, maxParallelImagePulls }) =>
  when(
    serializeImagePulls && maxParallelImagePulls !== undefined && maxParallelImagePulls > 1,
    'maxParallelImagePulls',
    'cannot be larger than 1 unless serializeImagePulls is set to false',
  );

const credentials: Rule = (configuration, { gates }) => {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } =
    configuration;
  if (!gates.enabled('KubeletEnsureSecretPulledImages')) {
    const off = 'must not be set: the feature gate KubeletEnsureSecretPulledImages is off';
    return [
      ...when(Boolean(policy), 'imagePullCredentialsVerificationPolicy', off),
      ...when(allowlist.length > 0, 'preloadedImagesVerificationAllowlist', off),
    ];
  }
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    return [
      {
        path: 'preloadedImagesVerificationAllowlist',
        message: 'needs imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages',
      },
    ];
  }
  return allowlist.flatMap((pattern, index) => {
    const problem = patternProblem(pattern);
    return problem === undefined ? [] : [{ path: `preloadedImagesVerificationAllowlist[${index}]`, message: problem }];
  });
};

/**
 * Returns the problem of an allowlist entry, which must be an image without tag and digest, or a prefix that ends in
 * `/*`.
 */
function patternProblem(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return 'must not begin or end with a space';
  const wildcard = pattern.endsWith('/*');
  const text = wildcard ? pattern.slice(0, -1) : pattern;
  if (text === '') return 'must not be empty';
  if (text.includes('*')) return 'may have a wildcard only as /* at its end';
  if (wildcard) return text === '/' ? 'must begin with a registry' : undefined;
  try {
    const { tag, digest } = parseImageReference(text);
    return tag === undefined && digest === undefined ? undefined : 'must have neither a tag nor a digest';
  } catch {
    return 'must be the name of an image';
  }
}

/** Rules for images. */
export const imageRules: readonly Rule[] = [ages, thresholds, parallelPulls, credentials];
