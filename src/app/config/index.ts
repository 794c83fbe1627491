export type { OptionsInForce } from './in-force';
export { describePlace, type PlaceOf, type Setting } from './setting';
export { LiveOptions, type PendingOption, type Proposal } from './live-options';
export { describeFile } from './describe-file';
export { readKnownLabels, rememberLabels, type NodeLabels } from './known-labels';
export { loadConfig, type ConfigFile, type Loaded, type LoadedConfig, type UsableOptions } from './load-config';
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
