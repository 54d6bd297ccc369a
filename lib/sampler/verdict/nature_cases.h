// Ensures that the linker keeps the cases.
#pragma once

extern "C" int plain_read();
