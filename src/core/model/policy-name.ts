export { isPolicyName, POLICY_NAMES, type ChosenPolicy, type PolicyName } from './policies';
