export { runNriPlugin, type NriPluginOptions } from './run-nri-plugin';
export { markForRemoval } from './handlers';
export type {
  Adjustment,
  ContainerRequest,
  ContainerUpdateRequest,
  CreateAnswer,
  Eviction,
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
export type { NriLog, RawPlugin, SettingNames, SynchronizationReader } from './nri-session';
export { EVENT_OF_METHOD, type EventMethod, type RuntimeInfo } from './protocol';
export { StatusCode, TtrpcError, type TtrpcHandler, type TtrpcRequest } from '../wire';
export { ContainerState, Event } from '../../gen/nri/v1alpha1/nri';
export type {
  Container,
  ContainerAdjustment,
  ContainerEviction,
  ContainerUpdate,
  DeepPartial,
  LinuxContainer,
  LinuxContainerAdjustment,
  LinuxResources,
  Mount,
  PodSandbox,
} from '../../gen/nri/v1alpha1/nri';
