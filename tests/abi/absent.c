// Two libraries for plugin_test.cc, one of which needs the other and is not told where it is.
#ifdef NEEDS_IT
int absent(void);
int CreateEpFactories(void) { return absent(); }
int ReleaseEpFactory(void) { return absent(); }
#else
int absent(void) { return 7; }
#endif
