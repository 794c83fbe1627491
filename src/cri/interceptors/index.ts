export { createInterceptors, type InterceptorSet } from './create-interceptors';
