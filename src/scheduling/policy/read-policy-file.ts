import { readBounded } from '../../files/read-bounded';
import type { ParsedPolicy } from './parse-policy';

/** Longest policy file. */
export const MAX_POLICY_BYTES = 1_048_576;

/** Reads a policy file. A file that can't be read is a problem too. The module that parses it is loaded late. */
export async function readPolicyFile(path: string): Promise<ParsedPolicy> {
  const read = readBounded(path, MAX_POLICY_BYTES);
  if (!read.ok) {
    const remedy = read.kind === 'too-large' ? 'is it the right one?' : 'check the path of the policy file';
    return { ok: false, problems: [`${path}: ${read.because}; ${remedy}`] };
  }
  const { parsePolicy } = await import('./parse-policy');
  return parsePolicy(read.text, path);
}
