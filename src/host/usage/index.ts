export { UsageReader, type ContainerToRead, type UsageReading, type UsageRequest } from './usage-reader';
