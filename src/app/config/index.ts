export type { OptionsInForce } from './in-force';
export { describePlace, type PlaceOf, type Setting } from './setting';
export { LiveOptions, type PendingOption, type Proposal } from './live-options';
export { describeFile } from './describe-file';
export { readKnownLabels, rememberLabels, type NodeLabels } from './known-labels';
export { loadConfig, type ConfigFile, type Loaded, type LoadedConfig, type UsableOptions } from './load-config';
export { keyValues } from './types/cpu-types';
export { kubeconfigSource } from './types/kube-types';
export { filePath, goBoolean, httpUrl } from './types/net-types';
export { durationMs, hostPort, socketPath } from './types/system-types';
export { accept, matching, oneOf, quote, reject, wholeNumber, type ValueType } from './types/value-type';
export {
  describeDefault,
  envNameOf,
  OPTION_KEYS,
  nameOf,
  OPTIONS,
  restartReason,
  type Config,
  type OptionKey,
} from './options';
