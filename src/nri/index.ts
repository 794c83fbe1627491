export { runNriPlugin, type NriPluginOptions } from './run-nri-plugin';
export { markForRemoval } from './handlers';
export type {
  Adjustment,
  AnsweringHandler,
  ContainerRequest,
  ContainerUpdateRequest,
  CreateAnswer,
  Eviction,
  NotificationHandler,
  NriHandlers,
  PodRequest,
  PodUpdateRequest,
  RequestContext,
  StopAnswer,
  Update,
  UpdateAnswer,
  ValidationRequest,
  Verdict,
} from './handlers';
export { serveNri } from './serve-nri';
export type { ConnectionOptions, NriPlugin, PluginPhase, PluginState, ServeOptions } from './serve-nri';
export { actsOnFailurePolicy, type FailurePolicy } from './failure-policy';
export type { NriLog, RawPlugin, SettingNames, SynchronizationReader } from './nri-session';
export { EVENT_OF_METHOD, type EventMethod, type RuntimeInfo } from './protocol';
export { StatusCode, TtrpcError, type TtrpcHandler, type TtrpcRequest } from '../wire';
export {
  ContainerState,
  Event,
  Field,
  IOPrioClass,
  LinuxSchedulerFlag,
  LinuxSchedulerPolicy,
  LogRequest_Level,
  MpolFlag,
  MpolMode,
  SecurityProfile_ProfileType,
} from '../../gen/nri/v1alpha1/nri';
/** The messages of NRI, as types: those that handlers get and give, and all that are in them. */
export type * from '../../gen/nri/v1alpha1/nri';
