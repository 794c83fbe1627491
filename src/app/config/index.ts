export type { PlaceOf } from './setting';
export { loadConfig, type ConfigInput, type LoadedConfig } from './load-config';
export {
  describeDefault,
  envNameOf,
  listOffered,
  nameOf,
  OPTIONS,
  type Config,
  type Option,
  type OptionKey,
} from './options';
